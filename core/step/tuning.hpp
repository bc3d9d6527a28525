// step/tuning.hpp -- the numbers that steer a step, with unit and reason, and the tests that notice if they are wrong.
#pragma once
#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

struct DetectTuning {
  // Limits are left alone if their joint is slower by this than what would close the gap [rad/s or m/s]: impulses
  // hardly ever change a joint's velocity by more, and where they do it is looked at again.
  // tests/physics/test_joints.py.
  static constexpr double joint_reach = 10;
  // Velocity limits of drives are looked at from this share of them on [1]: what is taken from one joint may speed up
  // another. tests/physics/test_joints.py.
  static constexpr double share_of_velocity_limit = 0.9;
  // Contacts likewise, by their normal velocity [m/s], unless others are struck harder. tests/physics/test_impacts.py.
  static constexpr double resting_reach = 1;
  // Looking again, none is left alone.
  static constexpr double everything = 1e300;
  // How often impulses may lead beyond what was looked at. Each look is a solve; further strays are left to the next
  // step. tests/simulation/test_robustness.py.
  static constexpr int most_looks = 4;
  // Contacts and limits that are closed faster than they may by less than this are left to the next step [m/s]: two
  // micrometres in a step of 2 ms, which are taken out again. tests/simulation/test_robustness.py.
  static constexpr double unseen = 1e-3;
  // Room for rounding where speeds are compared without roots [1].
  static constexpr double rounding = 1e-9;
};

struct AbsorbTuning {
  // Joint rows are absorbed if they stay where they are while velocities change by so many times what they did in the
  // last step [1]. Less, and more of them are looked at twice; more, and there are more rows.
  // tests/simulation/test_absorbed_rows.py.
  static constexpr double reach = 1.5;
  // Joints slower than this may stick [rad/s or m/s]: what solvers leave. tests/simulation/test_absorbed_rows.py.
  static constexpr double slowest = 1e-8;
  // With all the friction they have, joints that stick move at this speed [rad/s or m/s], which is rounding, and is
  // forgotten. tests/simulation/test_absorbed_rows.py.
  static constexpr double creep = 1e-16;
};

struct TumbleTuning {
  // Single bodies whose products turn their angular momentum by less than this in a step are left alone [rad]: what
  // that adds to the energy is its square. tests/physics/test_tumbling.py.
  static constexpr double negligible = 1e-7;
  // Explicit products feed what turns at w at a rate of up to w^2 dt. Trees in which that is more than this [1/s] take
  // the midpoint rule: ball joints; axes that may go on turning, such as wheels; those with limits. Robots that trot
  // stay below. tests/physics/test_tumbling.py.
  static constexpr double ball_growth = 0.05, axis_growth = 0.2, limited_growth = 1;
  // Tumbling bodies turn by no more than twice this in a step [rad]: Newton's iteration finds its way from where they
  // were. tests/physics/test_tumbling.py.
  static constexpr double most_half_turn = 0.6;
  // Newton's iterations for a body, which double digits, and evaluations for trees, which do not, end with a change of
  // this share of the velocity [1], or after so many.
  static constexpr double last_newton = 1e-8, last_change = 1e-9;
  static constexpr int most_newton = 8, most_evaluations = 60;
  // Steps in halves solve again where what impulses do changes velocities without them by more than this share of the
  // velocity [1]. tests/physics/test_second_order.py.
  static constexpr double same_kick = 1e-9;
};

struct FailureTuning {
  // Velocities beyond this have lost their meaning [m/s or rad/s], root of the sum of squares of an environment: the
  // speed of light and more, where a coordinate that moves for a second is known to 1e-7 at best. The environment
  // fails. tests/simulation/test_failure.py.
  static constexpr double fastest = 1e9;
  // Relative residuals beyond this are no numbers any more [1].
  static constexpr double largest_residual = 1e300;
};

struct VerifyTuning {
  // Overlaps up to this share of the relative travel in a step are grazes [1], and those below this are none [m]: what
  // slides over flush surfaces is off by rounding and by what separate.hpp leaves. tests/physics/test_passing.py.
  static constexpr double shallow = 0.01, flush = 2e-10;
  // Grazes are no deeper than this share of the thinner shape [1]: nothing fast passes through anything thin.
  // tests/physics/test_passing.py.
  static constexpr double of_thickness = 0.1;
  // Overlaps up to so many times what the links have elsewhere count as grazes as well [1], up to this share of the
  // travel [1]: what has sunk into one tile is no deeper in the next. tests/physics/test_passing.py.
  static constexpr double as_deep = 2, deepest = 0.25;
  // Normals are the same if the cosine of their angle is less than one by no more than this [1] (20 mrad), and other
  // ones if it is less than this [1]. tests/physics/test_passing.py.
  static constexpr double same_normal = 2e-4, other_normal = 0.9;
  // Meetings that are apart by this share of the step are at once [1]. tests/physics/test_passing.py.
  static constexpr double at_once = 0.01;
  // Impulses below this share of the largest are none [1]: what solvers leave. tests/physics/test_passing.py.
  static constexpr double loaded = 1e-6;
  // Rows of contacts that turn along the step by less than this times what gravity adds in a step do not [1]: rounding
  // of places, divided by the step.
  static constexpr double unseen_opening = 1e-6;
  // And those that turn by more than this times the speeds of what touches there [1] have jumped: what turns by a fifth
  // of a radian in a step has no second order. tests/physics/test_collisions_of_shapes.py.
  static constexpr double most_opening = 0.1;
};

struct LawTuning {
  // Gaps of loaded contacts of single bodies up to this share of g dt^2 stay open [1]: closing them contradicts
  // sticking (docs/adr/0017). tests/simulation/test_settling.py.
  static constexpr double closed_share = 0.01;
  // Normals that give way by less than this share of what tangents do [1] pass the hinges of their link, by a
  // ten-thousandth of their arm. tests/simulation/test_robustness.py.
  static constexpr double idle_normal = 1e-8;
};

// tests/physics/test_impacts.py notices all of them.
struct ImpactTuning {
  // Impacts that add less than this share of the energy they exchange are left alone [1]: rounding.
  static constexpr double negligible_gain = 1e-12;
  // Their velocities are known to this times the tolerance of the solver [1].
  static constexpr double loosely = 2;
  // Restitution is weakened until an impact wastes less than this share of what it exchanges [1], or to within this
  // share of it [1], in so many solves at most.
  static constexpr double wasted = 1e-7, fine_enough = 1e-6;
  static constexpr int most_shares = 24;
  // So many times the operations of the first solve may be spent on all of it [1], or this many if that is more. Then
  // what would still bring energy does not bounce, and there is no further round.
  // tests/simulation/test_bounded_effort.py.
  static constexpr double most_effort = 8, small_effort = 3e8;
  // Rounds in which what was struck strikes further; a row of so many balls. Then contacts close without restitution,
  // unless all rounds together take no more operations than the second number: what is light and caught between a wall
  // and something heavy strikes both hundreds of times before that turns back.
  static constexpr int most_rounds = 16;
  static constexpr double quick_effort = 3e5;
  // Solves in a round, at most, until all that wait for the next are found.
  static constexpr int most_passes = 4;
  // What is nearer than this touches [m]: it takes part in an impact at once. Placement is no better known.
  static constexpr double touching = 1e-9;
  // What is struck further slower than this times what gravity adds in a step does not bounce [1]: it comes to rest.
  // What was struck in the last step and leaves faster has been apart since.
  static constexpr double slow = 2;
  // In steps in halves, what comes nearer slower than this times what gravity and forces add in one lies [1].
  // tests/physics/test_frames_of_reference.py.
  static constexpr double at_rest = 1e-3;
  // What waits is open by this times the largest velocity [1]: farther than anything goes, and not so far that
  // iterations lose digits to it.
  static constexpr double open = 1e3;
};

struct SeparateTuning {
  // Overlaps below this are left alone [m], and closures that are off by less [m or rad]: rounding.
  // tests/simulation/test_settling.py.
  static constexpr double negligible_overlap = 1e-10, negligible_drift = 1e-9;
  // Share of an overlap that goes in a step [1], and the largest speed at which it does [m/s]: things that start inside
  // each other come apart without being thrown. tests/simulation/test_robustness.py.
  static constexpr double share_per_step = 0.5, fastest = 0.5;
  // Contacts yield where links would move faster than this times what the overlap asks for [1]: a rail that rises by
  // less than four degrees; and stay as they are beyond the second number: one degree. There a share of the motion is
  // left that moves nothing [1]. tests/simulation/test_separation.py.
  static constexpr double free_detour = 16, vain_detour = 64, least_share = 1e-50;
  // Normals that move less than this, against the lighter link alone, are held by hinges on both sides [1].
  // tests/simulation/test_separation.py.
  static constexpr double held = 1e-12;
  // Shapes are larger than this only if they have no end [m]. tests/simulation/test_separation.py.
  static constexpr double endless = 1e100;
  // Iterations at most, and the share of the first change at which they end [1]: the next step takes the rest.
  static constexpr int most_iterations = 50;
  static constexpr double last_change = 1e-3;
};

struct ClosureTuning {
  // Closures are closed to this [m or rad], or until an iteration no longer brings them this share nearer [1].
  // tests/simulation/test_closures_hold.py.
  static constexpr double closed = 1e-12, least_progress = 0.5;
  // Velocities that close them are found to this as well [m/s or rad/s]: it tells in steps below a millisecond.
  // tests/physics/test_mechanisms_with_answers.py.
  static constexpr double closed_speed = 1e-9;
  static constexpr int most_iterations = 20;
  // Rows that move this many times more or less easily where a step ends than where it begins are met nevertheless [1].
  // tests/physics/test_mechanisms_with_answers.py.
  static constexpr double most_share = 20;
  // How often an iteration may bring nothing: contacts that change their mode. tests/simulation/test_step_oracle.py.
  static constexpr int most_stalls = 1;
  // Environments that have more than closures are solved again for what these open, so often at most: each time brings
  // two to three digits, and coordinates take the rest.
  static constexpr int most_solves = 8;
  // Where nothing touches, iterations end with one that is expected to leave this many times less than it may [1].
  // tests/physics/test_closed_loops.py.
  static constexpr double spare = 4;
  // Products of velocities are those of the mean velocity to this share of it [1]. tests/physics/test_closed_loops.py.
  static constexpr double same_products = 1e-11;
  // Rows whose mobility, apart from what earlier rows move, is below this share of the largest of their kind repeat
  // them [1]: frames that are rounded to 1e-5 of a link. tests/simulation/test_closures_hold.py.
  static constexpr double dependent = 1e-10;
  // So do rows whose mobility is below this share of what the links that they hold have each by itself [1]: rounding,
  // and axes that are parallel to a microradian. tests/simulation/test_closures_hold.py.
  static constexpr double rounded = 1e-12;
  // Contacts and limits whose mobility is this share of what it would be with nothing held have none [1].
  // tests/simulation/test_step_oracle.py.
  static constexpr double immobile = 1e-6;
  // Others yield by this share of it [1]. tests/simulation/test_neighbours.py.
  static constexpr double yields = 1e-9;
  // What is apart at the start of a step comes together no faster than this [m/s, rad/s], and without throwing
  // anything; limits that return turn nothing that is held faster. tests/simulation/test_holds_far_off.py.
  static constexpr double fastest = SeparateTuning::fastest, fastest_turn = 2;
  // Limits that return by less than this per turn of the joints that they move stay as they are [m/rad or 1]: an arm
  // that is straight to a tenth of a degree. tests/simulation/test_holds_far_off.py.
  static constexpr double vain_lever = 1e-3;
  // Closures that miss where they should be by more than this cannot be met [m or rad].
  // tests/simulation/test_holds_far_off.py.
  static constexpr double unmet = 1e-6;
  // A correction turns no joint by more than this at once [rad or m]. tests/simulation/test_holds_far_off.py.
  static constexpr double farthest_turn = 0.1;
  // Of a correction that leaves them farther off, this share is tried instead. The Fetch robots of `make zoo`.
  static constexpr double share_back = 0.25;
};

}  // namespace featherweight::FW_ISA
