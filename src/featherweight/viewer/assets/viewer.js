// The page of an animation: builds the scene from the data beside it and moves the links frame by frame.
// Axes as in the data: x forward, z up. Placements are rows of 3x4 matrices.
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const n_frames = data.time.length, n_links = data.links.length, n_environments = data.environments;

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let k = 0; k < raw.length; ++k) out[k] = raw.charCodeAt(k);
    return out.buffer;
  }
  const floats = (text) => new Float32Array(bytes(text));
  const matrix = (m, at = 0) => new THREE.Matrix4().set(
    m[at], m[at + 1], m[at + 2], m[at + 3], m[at + 4], m[at + 5], m[at + 6], m[at + 7],
    m[at + 8], m[at + 9], m[at + 10], m[at + 11], 0, 0, 0, 1);

  const placements = floats(data.placements), centers = floats(data.centers);
  const lower = new THREE.Vector3(...data.lower), upper = new THREE.Vector3(...data.upper);
  const size = Math.max(upper.distanceTo(lower), 0.05);
  const extent = Math.max(upper.x - lower.x, upper.y - lower.y, 0.05);

  // -- the stage ------------------------------------------------------------------------------------------------------

  const scene = new THREE.Scene();
  scene.background = new THREE.Color(0xeef2f6);
  scene.fog = new THREE.Fog(0xeef2f6, 10 * size, 60 * size);
  const camera = new THREE.PerspectiveCamera(40, 1, size / 200, 200 * size);
  camera.up.set(0, 0, 1);
  const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFSoftShadowMap;
  renderer.setPixelRatio(window.devicePixelRatio);
  find("stage").appendChild(renderer.domElement);
  const controls = new THREE.OrbitControls(camera, renderer.domElement);

  // environments side by side, in a square
  const columns = Math.ceil(Math.sqrt(n_environments)), rows = Math.ceil(n_environments / columns);
  const spacing = n_environments > 1 ? 1.15 * extent + 0.1 * size : 0;
  const offset = (e) => new THREE.Vector3((e % columns) * spacing, Math.floor(e / columns) * spacing, 0);
  const middle = lower.clone().add(upper).multiplyScalar(0.5);
  middle.x += 0.5 * (columns - 1) * spacing;
  middle.y += 0.5 * (rows - 1) * spacing;

  function look(direction, distance) {
    controls.target.copy(middle);
    camera.position.copy(middle).addScaledVector(direction.normalize(), distance);
    controls.update();
  }
  look(new THREE.Vector3(1, -1.3, 0.7), 1.9 * size + 0.8 * Math.max(columns, rows) * spacing);

  scene.add(new THREE.HemisphereLight(0xffffff, 0x8d8d99, 1.6));
  const sun = new THREE.DirectionalLight(0xffffff, 2.2);
  const spread = 1.5 * size + Math.max(columns, rows) * spacing;
  sun.position.copy(middle).add(new THREE.Vector3(0.6 * spread, -0.9 * spread, 2.5 * spread));
  sun.target.position.copy(middle);
  sun.castShadow = true;
  sun.shadow.mapSize.set(2048, 2048);
  sun.shadow.normalBias = 0.004 * spread;
  Object.assign(sun.shadow.camera, { left: -spread, right: spread, top: spread, bottom: -spread, near: 0.01 * spread,
    far: 6 * spread });
  scene.add(sun, sun.target);

  // -- what there is to see -------------------------------------------------------------------------------------------

  const geometries = data.surfaces.map((surface) => {
    let geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(floats(surface.vertices), 3));
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(bytes(surface.faces)), 1));
    if (!surface.smooth) geometry = geometry.toNonIndexed();
    geometry.computeVertexNormals();
    return geometry;
  });
  const groups = { visual: [], collision: [], ground: [], frames: [], centre: [], trails: [], contacts: [] };

  function material(item) {
    const [r, g, b, alpha] = item.colour, seen = item.role === "collision" ? Math.min(alpha, 0.45) : alpha;
    const rgb = item.role === "collision" ? [0.9, 0.45, 0.25] : [r, g, b];
    const ground = item.role === "ground";  // the grid lies on it
    return new THREE.MeshStandardMaterial({ color: new THREE.Color().setRGB(...rgb, THREE.SRGBColorSpace),
      transparent: seen < 1, opacity: seen, roughness: 0.65, metalness: 0.05, side: THREE.DoubleSide,
      polygonOffset: ground, polygonOffsetFactor: 2, polygonOffsetUnits: 2 });
  }
  const materials = data.items.map(material);
  function on_top(object) {  // seen through whatever is in front of it: it is inside of bodies
    object.material.depthTest = false;
    object.material.transparent = true;
    object.renderOrder = 1;
    return object;
  }

  function environment(e) {
    const links = [];
    for (let k = 0; k < n_links; ++k) {
      const link = new THREE.Group();
      link.matrixAutoUpdate = false;
      link.name = data.links[k];
      scene.add(link);
      links.push(link);
      const axes = on_top(new THREE.AxesHelper(0.12 * size));
      link.add(axes);
      groups.frames.push(axes);
    }
    data.items.forEach((item, k) => {
      if (item.link < 0 && e > 0) return;
      const mesh = new THREE.Mesh(geometries[item.surface], materials[k]);
      mesh.name = item.name;
      mesh.matrixAutoUpdate = false;
      mesh.matrix.copy(matrix(item.placement));
      mesh.castShadow = item.role === "visual";
      mesh.receiveShadow = true;
      (item.link < 0 ? scene : links[item.link]).add(mesh);
      groups[item.role].push(mesh);
    });
    const ball = on_top(new THREE.Mesh(new THREE.SphereGeometry(0.02 * size), new THREE.MeshBasicMaterial({ color: 0xd01c8b })));
    scene.add(ball);
    groups.centre.push(ball);
    return { links, ball, offset: offset(e) };
  }
  const shown = Array.from({ length: n_environments }, (_, e) => environment(e));

  const ground = data.items.some((item) => item.role === "ground");
  const tile = Math.pow(10, Math.round(Math.log10(size)) - 1) * 5;
  // a grid of short segments: software renderers drop lines that reach behind the camera
  const cells = 80, corners = [];
  for (let i = 0; i <= cells; ++i)
    for (let j = 0; j < cells; ++j) {
      const u = (i - cells / 2) * tile, v = (j - cells / 2) * tile;
      corners.push(u, v, 0, u, v + tile, 0, v, u, 0, v + tile, u, 0);
    }
  const lines = new THREE.BufferGeometry();
  lines.setAttribute("position", new THREE.BufferAttribute(new Float32Array(corners), 3));
  const grid = new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ color: 0xb4bec9 }));
  grid.position.set(Math.round(middle.x / tile) * tile, Math.round(middle.y / tile) * tile,
    ground ? 0 : Math.min(0, lower.z));
  scene.add(grid);

  // trails of the centre of mass
  for (let e = 0; e < n_environments && n_frames > 1; ++e) {
    const points = centers.slice(3 * e * n_frames, 3 * (e + 1) * n_frames), o = offset(e);
    for (let k = 0; k < n_frames; ++k) points[3 * k] += o.x, points[3 * k + 1] += o.y;
    const line = new THREE.BufferGeometry();
    line.setAttribute("position", new THREE.BufferAttribute(points, 3));
    const trail = on_top(new THREE.Line(line, new THREE.LineBasicMaterial({ color: 0xd01c8b })));
    scene.add(trail);
    groups.trails.push(trail);
  }

  // contact points and their forces: the weight of everything is an arrow of 0.4 of the size
  const arrows = new THREE.Group();
  scene.add(arrows);
  groups.contacts.push(arrows);
  const dot = new THREE.SphereGeometry(0.008 * size), red = new THREE.MeshBasicMaterial({ color: 0xd7301f });
  const per_newton = data.weight > 0 ? 0.4 * size / data.weight : 0.01 * size;
  function show_contacts(frame) {
    arrows.clear();
    const now = data.contacts[frame];
    if (!now || !visible.contacts) return;
    now.environment.forEach((e, k) => {
      if (e >= n_environments) return;
      const at = new THREE.Vector3(...now.position.slice(3 * k, 3 * k + 3)).add(offset(e));
      const force = new THREE.Vector3(...now.force.slice(3 * k, 3 * k + 3)), length = force.length() * per_newton;
      const ball = on_top(new THREE.Mesh(dot, red));
      ball.position.copy(at);
      arrows.add(ball);
      if (length > 1e-3 * size) {
        const shown_length = Math.min(length, 2 * size);
        const arrow = new THREE.ArrowHelper(force.normalize(), at, shown_length, 0xd7301f, 0.2 * shown_length,
          0.1 * shown_length);
        on_top(arrow.line), on_top(arrow.cone);
        arrows.add(arrow);
      }
    });
  }

  // -- switches -------------------------------------------------------------------------------------------------------

  const visible = { visual: true, collision: false, frames: false, centre: false, trails: false, contacts: true };
  const names = { visual: "robot", collision: "collision shapes", frames: "frames of links", centre: "centre of mass",
    trails: "trail of the centre", contacts: "contacts and forces" };
  function apply_switches() {
    for (const name in visible) for (const object of groups[name]) object.visible = visible[name];
  }
  for (const name in visible) {
    if (groups[name].length === 0 || (name === "contacts" && data.contacts.length === 0)) continue;
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.id = "show-" + name;
    box.checked = visible[name];
    box.onchange = () => { visible[name] = box.checked; apply_switches(); show(frame); };
    label.append(box, " " + names[name]);
    find("switches").append(label);
  }
  find("title").textContent = data.title;
  if (data.left_out) find("note").textContent = `${data.left_out} more environments are not shown.`;

  // -- joints by hand: forward kinematics of a page without a motion ---------------------------------------------------

  function joint_motion(joint, q) {
    const turn = (axis, angle) => new THREE.Matrix4().makeRotationAxis(new THREE.Vector3(...axis), angle);
    const shift = (x, y, z) => new THREE.Matrix4().makeTranslation(x, y, z);
    const quaternion = (k) => new THREE.Matrix4().makeRotationFromQuaternion(
      new THREE.Quaternion(q[k], q[k + 1], q[k + 2], q[k + 3]));
    const a = joint.axis;
    switch (joint.type) {
      case "revolute": case "continuous": return turn(a, q[0]);
      case "prismatic": return shift(a[0] * q[0], a[1] * q[0], a[2] * q[0]);
      case "helical": return shift(...a.map((x) => x * joint.pitch * q[0])).multiply(turn(a, q[0]));
      case "universal": return turn(a, q[0]).multiply(turn(joint.axis2, q[1]));
      case "planar": return shift(q[0], q[1], 0).multiply(turn([0, 0, 1], q[2]));
      case "spherical": return quaternion(0);
      case "free": return shift(q[0], q[1], q[2]).multiply(quaternion(3));
      default: return new THREE.Matrix4();
    }
  }
  const q = data.q0.slice();
  function place_by_hand() {
    let start = 0;
    data.joints.forEach((joint, k) => {
      const X = matrix(joint.placement).multiply(joint_motion(joint, q.slice(start, start + joint.nq)))
        .multiply(matrix(joint.child_placement));
      start += joint.nq;
      const parent = data.parents[k];
      if (parent >= 0) X.premultiply(shown[0].links[parent].matrix);
      shown[0].links[k].matrix.copy(X);
      shown[0].links[k].matrixWorldNeedsUpdate = true;
    });
  }
  if (n_frames === 1) {
    let start = 0;
    for (const joint of data.joints) {
      const simple = joint.nq <= 3 && joint.type !== "spherical";
      for (let k = 0; simple && k < joint.nq; ++k) {
        const at = start + k, label = document.createElement("label"), slider = document.createElement("input");
        const bound = (limits, otherwise) => limits && limits[k] !== null ? limits[k] : otherwise;
        slider.type = "range";
        slider.step = "any";
        slider.id = `joint-${joint.name}` + (joint.nq > 1 ? `-${k}` : "");
        slider.min = bound(joint.lower, joint.type === "prismatic" ? -1 : -Math.PI);
        slider.max = bound(joint.upper, joint.type === "prismatic" ? 1 : Math.PI);
        slider.value = q[at];
        const text = () => `${joint.name}: ${q[at].toFixed(3)}`;
        const caption = document.createElement("span");
        caption.textContent = text();
        slider.oninput = () => { q[at] = Number(slider.value); caption.textContent = text(); place_by_hand(); };
        label.append(caption, slider);
        find("sliders").append(label);
      }
      start += joint.nq;
    }
    find("timeline").style.display = "none";
  }

  // -- curves ---------------------------------------------------------------------------------------------------------

  const curves = Object.entries(data.curves).map(([name, text]) => ({ name, values: floats(text) }));
  const canvas = find("curves"), plot = { width: 300, height: 92 };
  if (curves.length === 0 || n_frames < 2) canvas.style.display = "none";
  canvas.width = plot.width * 2;
  canvas.height = plot.height * 2 * curves.length;
  canvas.style.width = plot.width + "px";
  canvas.style.height = plot.height * curves.length + "px";
  function show_curves(frame) {
    const pen = canvas.getContext("2d");
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, plot.width, plot.height * curves.length);
    pen.font = "11px system-ui, sans-serif";
    curves.forEach((curve, row) => {
      const first = curve.values.slice(0, n_frames);
      let low = Infinity, high = -Infinity;
      for (const x of first) if (Number.isFinite(x)) low = Math.min(low, x), high = Math.max(high, x);
      if (!(high > low)) high = low + Math.max(1e-12, Math.abs(low) * 1e-3);
      const top = row * plot.height + 20, height = plot.height - 30;
      const X = (k) => 10 + (plot.width - 20) * k / (n_frames - 1);
      const Y = (x) => top + height * (1 - (x - low) / (high - low));
      pen.fillStyle = "#445";
      pen.fillText(`${curve.name}: ${first[frame].toPrecision(4)}`, 10, top - 7);
      const range = `${low.toPrecision(4)} to ${high.toPrecision(4)}`;
      pen.fillStyle = "#889";
      pen.fillText(range, plot.width - 10 - pen.measureText(range).width, top - 7);
      pen.strokeStyle = "#2166ac";
      pen.beginPath();
      for (let k = 0; k < n_frames; ++k) k ? pen.lineTo(X(k), Y(first[k])) : pen.moveTo(X(k), Y(first[k]));
      pen.stroke();
      pen.strokeStyle = "#d7301f";
      pen.beginPath();
      pen.moveTo(X(frame), top);
      pen.lineTo(X(frame), top + height);
      pen.stroke();
    });
  }

  // -- time -----------------------------------------------------------------------------------------------------------

  let frame = 0, playing = n_frames > 1, clock = data.time[0], last = null;
  function show(k) {
    frame = Math.max(0, Math.min(n_frames - 1, k));
    shown.forEach((environment, e) => {
      const base = (e * n_frames + frame) * n_links * 12;
      environment.links.forEach((link, i) => {
        link.matrix.copy(matrix(placements, base + 12 * i));
        link.matrix.elements[12] += environment.offset.x;
        link.matrix.elements[13] += environment.offset.y;
        link.matrixWorldNeedsUpdate = true;
      });
      const c = 3 * (e * n_frames + frame);
      environment.ball.position.set(centers[c], centers[c + 1], centers[c + 2]).add(environment.offset);
    });
    if (n_frames === 1) place_by_hand();
    show_contacts(frame);
    if (curves.length && n_frames > 1) show_curves(frame);
    find("scrub").value = frame;
    find("clock").textContent = `${data.time[frame].toFixed(3)} s of ${data.time[n_frames - 1].toFixed(2)} s`;
  }
  function play(on) {
    playing = on && n_frames > 1;
    if (playing && frame === n_frames - 1) show(0);
    clock = data.time[frame];
    find("play").classList.toggle("playing", playing);
  }
  function to(k) {
    play(false);
    show(k);
  }
  find("scrub").max = n_frames - 1;
  find("scrub").oninput = () => to(Number(find("scrub").value));
  find("play").onclick = () => play(!playing);
  find("back").onclick = () => to(frame - 1);
  find("forward").onclick = () => to(frame + 1);
  window.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" && event.target.type !== "range") return;
    if (event.key === " ") event.preventDefault(), play(!playing);
    if (event.key === "ArrowLeft") to(frame - 1);
    if (event.key === "ArrowRight") to(frame + 1);
  });

  function resize() {
    const width = window.innerWidth, height = window.innerHeight;
    renderer.setSize(width, height);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
  }
  window.addEventListener("resize", resize);
  function draw(now) {
    if (playing && last !== null) {
      clock += Number(find("speed").value) * (now - last) / 1000;
      let k = frame;
      while (k + 1 < n_frames && data.time[k + 1] <= clock) ++k;
      if (k !== frame) show(k);
      if (frame === n_frames - 1) clock = data.time[0], show(0);  // again from the start
    }
    last = now;
    controls.update();
    renderer.render(scene, camera);
    window.requestAnimationFrame(draw);
  }
  resize();
  apply_switches();
  show(0);
  play(playing);
  // for tests and for the browser's console
  window.featherweight = { data, scene, camera, show, to, play, get frame() { return frame; }, get playing() { return playing; },
    position: (link, e = 0) => new THREE.Vector3().setFromMatrixPosition(shown[e].links[data.links.indexOf(link)].matrix).toArray() };
  window.requestAnimationFrame(draw);
})();
