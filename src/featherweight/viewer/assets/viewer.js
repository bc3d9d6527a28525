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

  function nice(length) {
    const power = Math.pow(10, Math.floor(Math.log10(length)));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= length * (1 - 1e-9));
  }

  const placements = floats(data.placements), centers = floats(data.centers);
  const lower = new THREE.Vector3(...data.lower), upper = new THREE.Vector3(...data.upper);
  const size = Math.max(data.size, 0.05), whole = Math.max(upper.distanceTo(lower), size);
  const extent = Math.max(upper.x - lower.x, upper.y - lower.y, 0.05);

  // -- the stage ------------------------------------------------------------------------------------------------------

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.innerWidth < 720;
  const scene = new THREE.Scene();
  const camera = new THREE.PerspectiveCamera(35, 1, size / 100, 400 * size);
  camera.up.set(0, 0, 1);
  const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  renderer.shadowMap.enabled = true;
  renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
  find("stage").appendChild(renderer.domElement);
  const controls = new THREE.OrbitControls(camera, renderer.domElement);

  // environments side by side, in a square
  const columns = Math.ceil(Math.sqrt(n_environments)), rows = Math.ceil(n_environments / columns);
  const spacing = n_environments > 1 ? 1.15 * extent + 0.1 * size : 0;
  const offset = (e) => new THREE.Vector3((e % columns) * spacing, Math.floor(e / columns) * spacing, 0);

  // A robot that travels is followed; otherwise all environments and their whole motion are in view.
  const travels = n_environments === 1 && data.travels;
  const radius = 0.5 * (travels ? size : Math.hypot(whole, (columns - 1) * spacing, (rows - 1) * spacing));
  const middle = lower.clone().add(upper).multiplyScalar(0.5);
  if (travels) middle.set(centers[0], centers[1], Math.min(centers[2], middle.z));
  middle.x += 0.5 * (columns - 1) * spacing;
  middle.y += 0.5 * (rows - 1) * spacing;

  // tiles of 1, 2 or 5 times a power of ten, in a field that ends in the fog, whatever is looked at
  const cells = 120, tile = nice(0.4 * radius), reach = 0.48 * cells * tile;
  scene.fog = new THREE.Fog(0, 0.4 * reach, reach);
  const sky = new THREE.HemisphereLight(0xf4f8ff, 0x98a3b4, 1.6);
  const sun = new THREE.DirectionalLight(0xfff9f1, 2.3);
  const to_sun = new THREE.Vector3(0.7, -0.9, 2.4).multiplyScalar(1.5 * radius);
  sun.castShadow = true;
  sun.shadow.mapSize.set(4096, 4096);
  sun.shadow.normalBias = 0.003 * radius;
  sun.shadow.radius = 3;
  Object.assign(sun.shadow.camera, { left: -1.6 * radius, right: 1.6 * radius, top: 1.6 * radius, bottom: -1.6 * radius,
    near: 0.1 * radius, far: 10 * radius });
  scene.add(sky, sun, sun.target);

  function aim(target) {  // camera, sun and grid move along
    camera.position.add(target.clone().sub(controls.target));
    controls.target.copy(target);
    sun.target.position.copy(target);
    sun.position.copy(target).add(to_sun);
  }
  function frame_everything() {
    const upwards = Math.tan(Math.PI / 360 * camera.fov), sideways = upwards * camera.aspect;
    const direction = new THREE.Vector3(1, -1.3, 0.62).normalize();
    const right = new THREE.Vector3(0, 0, 1).cross(direction).normalize(), up = direction.clone().cross(right);
    const half = travels ? new THREE.Vector3(1, 1, 1).multiplyScalar(radius / Math.sqrt(3)) : upper.clone().sub(lower)
      .add(new THREE.Vector3(columns - 1, rows - 1, 0).multiplyScalar(spacing)).multiplyScalar(0.5);
    let distance = 0;  // from which every corner of the box around everything is in view
    for (let k = 0; k < 8; ++k) {
      const corner = half.clone().multiply(new THREE.Vector3(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1));
      const away = Math.max(Math.abs(corner.dot(right)) / sideways, Math.abs(corner.dot(up)) / upwards);
      distance = Math.max(distance, corner.dot(direction) + away);
    }
    controls.target.copy(middle);
    camera.position.copy(middle).addScaledVector(direction, 1.2 * distance);
    aim(middle);
    controls.update();
  }

  // -- what there is to see -------------------------------------------------------------------------------------------

  const geometries = data.surfaces.map((surface) => {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(floats(surface.vertices), 3));
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(bytes(surface.faces)), 1));
    geometry.computeVertexNormals();
    return geometry;
  });
  const groups = { visual: [], collision: [], ground: [], frames: [], centre: [], trails: [], contacts: [] };

  const plain_ground = new THREE.MeshStandardMaterial({ roughness: 1, polygonOffset: true, polygonOffsetFactor: 2,
    polygonOffsetUnits: 2, side: THREE.DoubleSide });  // the grid lies on it
  function material(item) {
    if (item.colour === null) return plain_ground;
    const collision = item.role === "collision";
    const [r, g, b, alpha] = collision ? [0.9, 0.45, 0.25, Math.min(item.colour[3], 0.45)] : item.colour;
    return new THREE.MeshStandardMaterial({ color: new THREE.Color().setRGB(r, g, b, THREE.SRGBColorSpace),
      transparent: alpha < 1, opacity: alpha, roughness: 0.55, metalness: 0.05, side: THREE.DoubleSide });
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
      mesh.castShadow = item.role === "visual" || (item.role === "ground" && item.colour !== null);
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

  const level = data.floor ?? Math.min(0, lower.z);
  if (!data.items.some((item) => item.role === "ground")) {  // only the shadow is seen
    const floor = new THREE.Mesh(new THREE.PlaneGeometry(40 * radius, 40 * radius), new THREE.ShadowMaterial({ opacity: 0.3 }));
    floor.position.set(middle.x, middle.y, level - 1e-3 * size);
    floor.receiveShadow = true;
    scene.add(floor);
  }
  // a grid of short segments: software renderers drop lines that reach behind the camera
  const corners = [];
  for (let i = 0; i <= cells; ++i)
    for (let j = 0; j < cells; ++j) {
      const u = (i - cells / 2) * tile, v = (j - cells / 2) * tile;
      corners.push(u, v, 0, u, v + tile, 0, v, u, 0, v + tile, u, 0);
    }
  const lines = new THREE.BufferGeometry();
  lines.setAttribute("position", new THREE.BufferAttribute(new Float32Array(corners), 3));
  const grid = new THREE.LineSegments(lines, new THREE.LineBasicMaterial());
  scene.add(grid);

  function apply_theme() {
    const back = dark.matches ? 0x12171e : 0xf3f6f9;
    scene.background = new THREE.Color(back);
    scene.fog.color.set(back);
    plain_ground.color.set(dark.matches ? 0x2a323d : 0xe6eaef);
    grid.material.color.set(dark.matches ? 0x3d4856 : 0xbfc9d4);
  }

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
  const most_contacts = Math.max(0, ...data.contacts.map((now) => now.environment.length));
  const red = on_top({ material: new THREE.MeshBasicMaterial({ color: 0xd7301f }) }).material;
  function copies(geometry, name) {
    const mesh = new THREE.InstancedMesh(geometry, red, Math.max(1, most_contacts));
    mesh.name = name;
    mesh.renderOrder = 1;
    mesh.frustumCulled = false;
    mesh.count = 0;
    scene.add(mesh);
    groups.contacts.push(mesh);
    return mesh;
  }
  const dots = copies(new THREE.SphereGeometry(0.009 * size), "contact points");
  const shafts = copies(new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0), "contact forces");
  const heads = copies(new THREE.ConeGeometry(1, 1, 16).translate(0, -0.5, 0), "contact force heads");
  const per_newton = data.weight > 0 ? 0.4 * size / data.weight : 0.01 * size;
  const up = new THREE.Vector3(0, 1, 0);
  function show_contacts(frame) {
    dots.count = shafts.count = heads.count = 0;
    const now = data.contacts[frame];
    if (!now || !visible.contacts) return;
    const place = new THREE.Matrix4(), turn = new THREE.Quaternion();
    now.environment.forEach((e, k) => {
      if (e >= n_environments) return;
      const at = new THREE.Vector3(...now.position.slice(3 * k, 3 * k + 3)).add(offset(e));
      const force = new THREE.Vector3(...now.force.slice(3 * k, 3 * k + 3));
      const length = Math.min(force.length() * per_newton, 2 * size), thick = 0.005 * size;
      dots.setMatrixAt(dots.count++, place.makeTranslation(at));
      if (length < 1e-3 * size) return;
      const head = Math.min(0.05 * size, 0.5 * length), tip = at.clone().addScaledVector(force.normalize(), length);
      turn.setFromUnitVectors(up, force);
      shafts.setMatrixAt(shafts.count++, place.compose(at, turn, new THREE.Vector3(thick, length - head, thick)));
      heads.setMatrixAt(heads.count++, place.compose(tip, turn, new THREE.Vector3(0.4 * head, head, 0.4 * head)));
    });
    for (const mesh of [dots, shafts, heads]) mesh.instanceMatrix.needsUpdate = true;
  }

  // -- switches -------------------------------------------------------------------------------------------------------

  const visible = { visual: true, collision: false, frames: false, centre: false, trails: false, contacts: true };
  const names = { visual: "visual shapes", collision: "collision shapes", frames: "link frames", centre: "centre of mass",
    trails: "path of the centre of mass", contacts: "contacts and forces" };
  function apply_switches() {
    for (const name in visible) for (const object of groups[name]) object.visible = visible[name];
  }
  function add_switch(id, text, checked, change) {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.id = id;
    box.checked = checked;
    box.onchange = () => change(box.checked);
    label.append(box, " " + text);
    find("switches").append(label);
  }
  for (const name in visible) {
    if (groups[name].length === 0 || (name === "contacts" && data.contacts.length === 0)) continue;
    add_switch("show-" + name, names[name], visible[name], (on) => { visible[name] = on; apply_switches(); show(frame); });
  }
  let follows = travels;
  if (n_frames > 1 && n_environments === 1)
    add_switch("follow", "camera follows", follows, (on) => { follows = on; });
  if (narrow) find("panel").open = find("plots").open = false;
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
        const unit = joint.type === "prismatic" || (joint.type === "planar" && k < 2) ? "m" : "rad";
        const which = joint.nq > 1 ? ` (${k + 1} of ${joint.nq})` : "";
        const text = () => `${joint.name}${which}: ${q[at].toFixed(2)} ${unit}`;
        const caption = document.createElement("span");
        caption.textContent = text();
        slider.oninput = () => { q[at] = Number(slider.value); caption.textContent = text(); place_by_hand(); };
        label.append(caption, slider);
        find("sliders").append(label);
      }
      start += joint.nq;
    }
    find("timeline").style.display = "none";
    if (data.loops) find("note").textContent = "Sliders move the joints of the tree: they open its loops.";
  }

  // -- curves ---------------------------------------------------------------------------------------------------------

  const curves = Object.entries(data.curves).map(([name, text]) => {
    const by_powers = name === "residual";  // of ten; what is zero is at the bottom
    return { name, values: floats(text), scale: by_powers ? (x) => Math.log10(Math.max(x, 1e-16)) : (x) => x };
  });
  const canvas = find("curves"), plot = { width: Math.min(300, window.innerWidth - 60), height: 84 };
  if (curves.length === 0 || n_frames < 2) find("plots").style.display = "none";
  canvas.width = plot.width * 2;
  canvas.height = plot.height * 2 * curves.length;
  canvas.style.width = plot.width + "px";
  canvas.style.height = plot.height * curves.length + "px";
  const short = (x) => x === 0 ? "0" : Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5 ? x.toExponential(1) : x.toPrecision(4);
  function show_curves(frame) {
    const pen = canvas.getContext("2d"), style = window.getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue("--" + name);
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, plot.width, plot.height * curves.length);
    pen.font = "11px system-ui, sans-serif";
    curves.forEach((curve, row) => {
      const first = curve.values.slice(0, n_frames);
      let low = Infinity, high = -Infinity;
      for (const x of first) if (Number.isFinite(x)) low = Math.min(low, x), high = Math.max(high, x);
      const bottom = curve.scale(low), span = curve.scale(high) - bottom || Math.max(1e-12, Math.abs(low) * 1e-3);
      const top = row * plot.height + 20, height = plot.height - 30;
      const X = (k) => 10 + (plot.width - 20) * k / (n_frames - 1);
      const Y = (x) => top + height * (1 - (curve.scale(x) - bottom) / span);
      pen.fillStyle = ink("ink");
      pen.fillText(`${curve.name}: ${short(first[frame])}`, 10, top - 7);
      const range = `${short(low)} to ${short(high)}`;
      pen.fillStyle = ink("faint");
      pen.fillText(range, plot.width - 10 - pen.measureText(range).width, top - 7);
      pen.strokeStyle = ink("line");
      pen.lineWidth = 1.5;
      pen.beginPath();
      for (let k = 0; k < n_frames; ++k) k ? pen.lineTo(X(k), Y(first[k])) : pen.moveTo(X(k), Y(first[k]));
      pen.stroke();
      pen.strokeStyle = ink("mark");
      pen.lineWidth = 1;
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
    const base = 3 * frame;
    if (follows) aim(new THREE.Vector3(centers[base], centers[base + 1], controls.target.z));
    grid.position.set(Math.round(controls.target.x / tile) * tile, Math.round(controls.target.y / tile) * tile, level);
    show_contacts(frame);
    if (curves.length && n_frames > 1) show_curves(frame);
    find("scrub").value = frame;
    find("clock").textContent = `${data.time[frame].toFixed(2)} / ${data.time[n_frames - 1].toFixed(2)} s`;
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
    if (["SUMMARY", "SELECT", "BUTTON"].includes(event.target.tagName) || event.target.type === "checkbox") return;
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
  dark.addEventListener("change", () => { apply_theme(); show(frame); });
  apply_theme();
  resize();
  frame_everything();
  apply_switches();
  show(0);
  play(playing);
  // for tests and for the browser's console
  window.featherweight = { data, scene, camera, controls, show, to, play, get frame() { return frame; }, get playing() { return playing; },
    position: (link, e = 0) => new THREE.Vector3().setFromMatrixPosition(shown[e].links[data.links.indexOf(link)].matrix).toArray() };
  window.requestAnimationFrame(draw);
})();
