"""Pages: in a headless browser the robot is there, it moves, and the buttons do what they say."""

import json
import re
import shutil
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import featherweight as fw
from featherweight.viewer.animation import Animation
from featherweight.viewer.page import MOST_FRAMES, page
from featherweight.viewer.world import GROUND, World

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (Debian: apt-get install chromium)")


def fallen(batch: int | None = None, n_steps: int = 100) -> fw.Trajectory:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(0.0, 0.0, 0.11))
    sim = fw.Simulator(scene, 2e-3)
    return sim.rollout(sim.state() if batch is None else sim.state(batch), n_steps=n_steps, record_contacts=True)


def asked(path: Path, script: str) -> Any:
    """What ``script`` returns inside the page: run when everything is loaded, and read from the page's source."""
    text = path.read_text()
    text += (
        "<script>window.addEventListener('load', () => setTimeout(() => {"
        f"const answer = (() => {{ {script} }})();"
        "const out = document.createElement('pre'); out.id = 'answer'; out.textContent = JSON.stringify(answer);"
        "document.body.append(out); }, 300));</script>"
    )
    path.write_text(text)
    assert CHROMIUM is not None
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu-sandbox", "--use-gl=angle", "--use-angle=swiftshader"),
        *("--enable-unsafe-swiftshader", f"--user-data-dir={path.parent / 'profile'}", "--virtual-time-budget=3000"),
        *("--window-size=800,600", "--dump-dom", path.absolute().as_uri()),
    ]
    source = subprocess.run(command, capture_output=True, text=True, timeout=200).stdout
    found = re.search(r'<pre id="answer">(.*?)</pre>', source, re.S)
    assert found, source[-2000:]
    return json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&"))


@needs_browser
def test_a_falling_crate_is_there_and_moves(tmp_path: Path) -> None:
    motion = fallen()
    motion.html(tmp_path / "crate.html")
    heights = asked(
        tmp_path / "crate.html",
        "const f = window.featherweight; f.play(false);"
        "return [0, f.data.time.length - 1].map((k) => { f.show(k); return f.position('crate')[2]; });",
    )
    assert heights == pytest.approx([motion.q[0, 2], motion.q[-1, 2]], abs=1e-6)


def test_grids_lie_on_the_ground_and_what_stands_on_it_can_be_told_from_it() -> None:
    scene = fw.Scene(ground=fw.Plane(offset=-0.3))
    scene.add(fw.box((0.4, 0.4, 0.1), static=True), name="table", pose=(0.5, 0.0, -0.25))
    scene.add(fw.box((0.2, 0.2, 0.2)), name="crate")
    world = World.of(fw.Simulator(scene).scene)
    assert world.floor() == pytest.approx(-0.3)
    colours = {item.name: item.colour for item in world.items if item.role == "ground"}
    assert colours["ground"] == GROUND != colours["table"]
    assert World.of(fw.models.box()).floor() is None


@needs_browser
def test_buttons_do_what_they_say(tmp_path: Path) -> None:
    fallen().html(tmp_path / "crate.html")
    seen = asked(
        tmp_path / "crate.html",
        "const f = window.featherweight, click = (id) => document.getElementById(id).click(), seen = {};"
        "f.play(false); f.show(3); click('forward'); seen.forward = f.frame; click('back'); click('back');"
        "seen.back = f.frame; click('play'); seen.playing = f.playing; click('play'); seen.paused = !f.playing;"
        "const scrub = document.getElementById('scrub'); scrub.value = 5; scrub.dispatchEvent(new Event('input'));"
        "seen.scrub = f.frame; const box = document.getElementById('show-visual'); box.click();"
        "seen.hidden = !f.scene.getObjectByName('crate/box').visible; box.click();"
        "seen.shown = f.scene.getObjectByName('crate/box').visible; return seen;",
    )
    assert seen == {
        "forward": 4, "back": 2, "playing": True, "paused": True, "scrub": 5, "hidden": True, "shown": True
    }  # fmt: skip


@needs_browser
def test_contact_forces_frames_centres_and_trails_are_shown_when_asked_for(tmp_path: Path) -> None:
    fallen(batch=4).html(tmp_path / "crates.html")
    seen = asked(
        tmp_path / "crates.html",
        "const f = window.featherweight, visible = (type) => { let n = 0;"
        "f.scene.traverseVisible((o) => { n += o.type === type; }); return n; };"
        "f.to(f.data.time.length - 1); const seen = {};"
        "const arrows = () => f.scene.getObjectByName('contact forces').count;"
        "seen.arrows = arrows(); document.getElementById('show-contacts').click(); seen.none = arrows();"
        "seen.lines = visible('Line'); document.getElementById('show-trails').click(); seen.trails = visible('Line');"
        "document.getElementById('show-frames').click(); seen.frames = visible('AxesHelper');"
        "const before = visible('Mesh');"
        "document.getElementById('show-centre').click(); seen.centres = visible('Mesh') - before;"
        "document.getElementById('show-collision').click(); seen.collision = visible('Mesh') - before - seen.centres;"
        "seen.speeds = document.getElementById('speed').options.length; return seen;",
    )
    assert seen == {
        "arrows": 16, "none": 0, "lines": 0, "trails": 4, "frames": 4, "centres": 4, "collision": 4, "speeds": 6
    }  # fmt: skip


@needs_browser
def test_the_camera_follows_what_travels_and_stays_with_what_does_not(tmp_path: Path) -> None:
    def seen(speed: float) -> Any:
        scene = fw.Scene(ground=fw.Plane(friction=0.0))
        scene.add(fw.box((0.2, 0.2, 0.2)), name="crate", pose=(0.0, 0.0, 0.1))
        sim = fw.Simulator(scene, 2e-3)
        state = sim.state(v=np.array([speed, 0.0, 0.0, 0.0, 0.0, 0.0]))
        sim.rollout(state, n_steps=100).html(tmp_path / "crate.html")
        script = (
            "const f = window.featherweight, box = document.getElementById('follow'), seen = [box.checked];"
            "for (const k of [0, f.data.time.length - 1]) { f.to(k); seen.push(f.controls.target.x); }"
            "box.click(); f.to(0); seen.push(f.controls.target.x); return seen;"
        )
        return asked(tmp_path / "crate.html", script)

    follows, start, end, left = seen(speed=10.0)
    assert follows
    assert (start, end, left) == pytest.approx((0.02, 2.0, 2.0), abs=1e-3)  # the first row is after a step
    follows, start, end, _ = seen(speed=0.1)
    assert not follows
    assert start == end


@needs_browser
def test_sliders_of_a_model_move_its_links_as_forward_kinematics_does(tmp_path: Path) -> None:
    """The page has forward kinematics of its own."""
    model = fw.models.quadruped()
    fw.view(model, path=tmp_path / "robot.html", open_browser=False)
    joint = next(joint for joint in model.joints if joint.nq == 1)
    positions = asked(
        tmp_path / "robot.html",
        f"const slider = document.getElementById('joint-{joint.name}'); slider.value = 0.4;"
        "slider.dispatchEvent(new Event('input'));"
        "return window.featherweight.data.links.map((name) => window.featherweight.position(name));",
    )
    q = model.neutral()
    q[joint.q_slice] = 0.4
    assert np.allclose(positions, fw.forward_kinematics(model, q)[:, :3, 3], atol=1e-6)


def test_a_model_is_shown_where_it_starts(tmp_path: Path) -> None:
    model = fw.models.stewart()
    text = fw.view(model, path=tmp_path / "stewart.html", open_browser=False).read_text()
    shown = re.search(r'"q0":(\[[^\]]*\])', text)
    assert shown and np.array_equal(json.loads(shown[1]), model.q0)
    assert not np.array_equal(model.q0, model.neutral())


def test_pictures_of_what_collides_are_left_out_where_others_fill_the_same_space() -> None:
    """Two surfaces at one place flicker; what sticks out of the others is shown."""

    def shown(edge: float) -> list[str]:
        shapes = [
            fw.Geometry("shell", "visual", "box", (0.2, 0.2, 0.2)),
            fw.Geometry("hull", "visual", "box", (edge, edge, edge)),
            fw.Geometry("hull", "collision", "box", (edge, edge, edge)),
        ]
        builder = fw.ModelBuilder("crate").link("crate", mass=1.0, inertia=(1.0, 1.0, 1.0), geometries=shapes)
        items = World.of(builder.build(floating_base=True)).items
        return [item.name for item in items if item.role == "visual"]

    assert shown(0.2) == ["crate/shell"]
    assert shown(0.4) == ["crate/shell", "crate/hull"]


def test_a_page_needs_no_network() -> None:
    text = page(fallen().animation())
    assert not re.findall(r'(?:src|href)\s*=\s*"', text)
    assert "import(" not in text.split('<script id="data"')[1]


def test_environments_stand_side_by_side_and_too_many_are_counted() -> None:
    text = page(fallen(batch=70, n_steps=2).animation())
    assert '"environments":64' in text
    assert '"left_out":6' in text


def test_long_motions_are_thinned_and_keep_their_ends() -> None:
    model = fw.models.pendulum()
    n = 20_000
    q = np.linspace(0.0, 1.0, n)[None, :, None] * np.ones(model.nq)
    long = Animation(World.of(model), "long", np.linspace(0.0, 20.0, n), q)
    shown = long.frames(1000.0, MOST_FRAMES)
    assert len(shown.time) == MOST_FRAMES
    assert (shown.time[0], shown.time[-1]) == (long.time[0], long.time[-1])


def test_pages_and_videos_of_many_environments_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is that of what is shown, however many environments and frames there are."""
    model = fw.models.quadruped()
    n, frames = 500, 1_000
    q = np.broadcast_to(model.neutral(), (n, frames, model.nq))
    time = np.linspace(0.0, 20.0, frames)
    many = Animation(World.of(model), "many", time, q, curves={"energy [J]": np.zeros((n, frames))})
    monkeypatch.setattr("featherweight.viewer.page.MOST_PLACEMENTS", 20_000)
    tracemalloc.start()
    try:
        text = page(many)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    shown = re.search(r'"time":\[([^]]*)\]', text)
    assert shown and shown[1].count(",") + 1 == 20_000 // (64 * model.n_links)
    assert peak < 50e6  # all placements: 400 MB


def test_what_cannot_be_shown_says_so() -> None:
    sim = fallen().simulator
    empty = sim.rollout(sim.state(), n_steps=2, record=False)
    with pytest.raises(ValueError, match="no rows to show"):
        empty.html("never.html")
    with pytest.raises(ValueError, match="expected a model, a simulator"):
        fw.view(cast(Any, 3), open_browser=False)
    with pytest.raises(ValueError, match="one configuration"):
        fw.view(fw.models.pendulum(), np.zeros(5), open_browser=False)
    assert not Path("never.html").exists()


def test_missing_meshes_are_left_out_with_a_warning() -> None:
    text = (
        '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
        'iyz="0"/></inertial><visual><geometry><mesh filename="nowhere.stl"/></geometry></visual></link></robot>'
    )
    model = fw.loads(text, "urdf")
    with pytest.warns(UserWarning, match=r"is not shown: .*nowhere\.stl"):
        assert World.of(model).items == ()


def test_without_a_browser_it_is_said_where_the_page_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda *_: False)
    with pytest.warns(UserWarning, match=r"no browser could be started here: open file:.*arm\.html in one"):
        fw.view(fw.models.arm(), path=tmp_path / "arm.html")
    assert (tmp_path / "arm.html").exists()
