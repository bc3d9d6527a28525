#include "scene/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "model/mount.hpp"
#include "scene/contacts.hpp"

namespace featherweight {
namespace {

// Beyond so many pairs, shapes that are near are found by sweep and prune, and then filtered.
constexpr std::size_t most_listed_pairs = 4096;

}  // namespace

Simulation::Simulation(const Model& model, SceneSpec spec, double dt, Integrator integrator)
    : model_(model), dt_(dt), integrator_(integrator) {
  if (!(dt > 0 && std::isfinite(dt))) throw std::invalid_argument("dt must be positive and finite");
  scene_.integrator = integrator;
  scene_.kick = integrator == Integrator::verlet ? 0.5 * dt : dt;
  scene_.ahead = integrator == Integrator::implicit ? dt : 0;
  scene_.tree = model.tree<double>();
  links_.assign(scene_.tree.links, scene_.tree.links + scene_.tree.n_links);
  scene_.tree.links = links_.data();
  if (!spec.switched.empty()) spec_ = std::make_unique<const SceneSpec>(spec);
  find_paths();
  add_shapes(spec);
  find_damped(spec);
  add_struts(spec);
  add_rows(spec);
  plan_held(spec);
  find_switched(spec);
  add_springs(spec);
  add_inertia(spec);
  add_medium(spec);
  add_transmissions(spec);
  add_lifts(spec);
  find_touchable();
}

int Simulation::link_of_dof(int dof) const {
  for (std::size_t i = 0; i < links_.size(); ++i)
    if (links_[i].v == dof && links_[i].nv == 1) return static_cast<int>(i);
  throw std::invalid_argument("degree of freedom " + std::to_string(dof) +
                              " does not belong to an axis: limits, friction, springs and servos act on revolute, "
                              "prismatic and helical joints");
}

int Simulation::coordinate_of_dof(int dof) const {
  for (const Link<double>& l : links_)
    if (l.v <= dof && dof < l.v + l.nv) return l.nv == 1 ? l.q : -1;
  throw std::invalid_argument("degree of freedom " + std::to_string(dof) + " is out of range");
}

void Simulation::find_paths() {
  const int n = scene_.tree.n_links, nv = scene_.tree.nv;
  depth_.resize(nv);
  for (int f = 0; f < nv; ++f) {
    const int inboard = scene_.tree.dof_parent[f];
    depth_[f] = inboard < 0 ? 0 : depth_[inboard] + 1;
  }
  last_dof_.resize(n);
  root_.resize(n);
  for (int i = 0; i < n; ++i) {
    const Link<double>& l = links_[i];
    last_dof_[i] = l.v + l.nv - 1;
    root_[i] = l.parent < 0 ? i : root_[l.parent];
  }
  constexpr int most_tabulated = 256;
  for (int a = 0; a < n && n <= most_tabulated; ++a)
    for (int b = 0; b < n; ++b) {
      int common = a;
      while (common >= 0 && !(common <= b && b < links_[common].subtree_end)) common = links_[common].parent;
      shared_.push_back(common < 0 ? 0 : depth_[last_dof_[common]] + 1);
    }
  scene_.shared = shared_.empty() ? nullptr : shared_.data();
  scene_.depth = depth_.data();
  scene_.last_dof = last_dof_.data();
  scene_.root = root_.data();
}

void Simulation::add_shapes(SceneSpec& spec) {
  for (const ShapeSpec& s : spec.shapes) {
    PlacedShape shape{
        mount_on_link(scene_.tree, s.link, s.placement), s.shape, {}, {}, 0, bounding_box(s.shape), {}, 0, s.link};
    const double* const c = s.shape.center;
    for (int r = 0; r < 3; ++r)
      shape.center[r] = shape.R[3 * r] * c[0] + shape.R[3 * r + 1] * c[1] + shape.R[3 * r + 2] * c[2] + shape.p[r];
    const BoundingCapsule capsule = bounding_capsule(s.shape);
    for (int r = 0; r < 3; ++r) shape.half[r] = capsule.half * shape.R[3 * r + capsule.axis];
    shape.girth = capsule.girth;
    const double normal[3] = {shape.R[2], shape.R[5], shape.R[8]};
    set_frame(normal, shape.frame);
    shapes_.push_back(shape);
  }
  std::vector<int> count(links_.size(), 0);
  for (const PlacedShape& shape : shapes_)
    if (shape.link >= 0) ++count[static_cast<std::size_t>(shape.link)];
  for (PlacedShape& shape : shapes_)
    shape.is_alone = shape.link >= 0 && count[static_cast<std::size_t>(shape.link)] == 1;
  if (spec.rules && spec.rules->n_shapes() != static_cast<int>(shapes_.size()))
    throw std::invalid_argument("rules: expected one per shape");
  if (spec.rules && spec.rules->largest_material() >= static_cast<int>(spec.materials.size()))
    throw std::invalid_argument("rules: unknown material");
  const auto listed = spec.rules ? spec.rules->pairs(most_listed_pairs) : std::vector<PairRule>{};
  for (const PairRule& rule : listed.value_or(std::vector<PairRule>{})) {
    ScenePair pair{rule.first, rule.second, rule.material, 0, -1, ScenePair::body, 0, 0};
    // ground comes second, so that contacts push what is on it
    const ShapeKind kind = shapes_[static_cast<std::size_t>(pair.a)].shape.kind;
    if (kind == ShapeKind::plane || kind == ShapeKind::height_field) std::swap(pair.a, pair.b);
    const PlacedShape &a = shapes_[static_cast<std::size_t>(pair.a)], &b = shapes_[static_cast<std::size_t>(pair.b)];
    if (b.shape.kind == ShapeKind::plane) pair.side = b.link < 0 ? ScenePair::ground : ScenePair::moving_plane;
    pair.is_ball_on_plane = a.shape.kind == ShapeKind::sphere && pair.side == ScenePair::ground;
    pair.margin = spec.materials[static_cast<std::size_t>(pair.material)].margin + look_ahead;
    pair.reach = pair.margin + (a.shape.radius + b.shape.radius);
    pairs_.push_back(pair);
  }
  std::sort(pairs_.begin(), pairs_.end(),
            [](const ScenePair& x, const ScenePair& y) { return x.a < y.a || (x.a == y.a && x.b < y.b); });
  if (!listed) rules_ = std::move(spec.rules);
  scene_.rules = rules_.get();
  materials_ = spec.materials;
  for (const PairMaterial& m : materials_) scene_.has_restitution |= m.is_elastic();
  // Of trees that hinges alone hold, normals may not move (contact_rows.hpp); steps in halves keep contacts that are no
  // longer near.
  constexpr int most_balls = 32;  // the matrix of more does not fit on lanes
  const auto slides_only = [&](const ScenePair& pair) {
    const PairMaterial& m = materials_[static_cast<std::size_t>(pair.material)];
    const int link = shapes_[static_cast<std::size_t>(pair.a)].link;
    return pair.is_ball_on_plane && m.dim == 3 && m.friction > 0 && m.tangential_restitution == 0 && link >= 0 &&
           links_[root_[link]].kind == JointKind::free && !scene_.is_verlet();
  };
  const auto n_balls = std::count_if(pairs_.begin(), pairs_.end(), slides_only);
  for (ScenePair& pair : pairs_) pair.ball = n_balls <= most_balls && slides_only(pair) ? scene_.n_balls++ : -1;
  scene_.n_shapes = static_cast<int>(shapes_.size());
  scene_.n_pairs = static_cast<int>(pairs_.size());
  scene_.n_materials = static_cast<int>(materials_.size());
  scene_.shapes = shapes_.data();
  scene_.pairs = pairs_.data();
  scene_.materials = materials_.data();
}

void Simulation::add_rows(const SceneSpec& spec) {
  for (const JointRowSpec& row : spec.joint_rows) {
    const int link = link_of_dof(row.dof);
    const double along = row.kind == JointRow::upper_limit ? -1 : 1;
    joint_rows_.push_back({row.kind, {link, row.dof, links_[link].q, along}, row.bound, -1, row.restitution, -1, 0, 0});
    scene_.has_restitution |= row.restitution > 0;
  }
  for (const ClosureSpec& c : spec.closures) {
    closures_.push_back(compile_closure(scene_.tree, c));
  }
  for (const CouplingSpec& c : spec.couplings) {
    const std::string what = "coupling " + std::to_string(couplings_.size()) + ": ";
    const auto terms = compile_coupling(scene_.tree, c, what);
    couplings_.push_back({static_cast<int>(coupling_terms_.size()), 0});
    coupling_terms_.insert(coupling_terms_.end(), terms.begin(), terms.end());
    couplings_.back().end = static_cast<int>(coupling_terms_.size());
  }
  actuators_ = spec.actuators;
  for (std::size_t k = 0; k < actuators_.size(); ++k) {
    Actuator& a = actuators_[k];
    const int link = link_of_dof(a.dof);
    a.q = links_[link].q;
    set_rates(a);
    a.is_row = std::isfinite(a.lower) && std::isfinite(a.upper) && a.rate > 0;
    a.is_limited = std::isfinite(a.velocity) && scene_.integrator != Integrator::rk4;
    if (a.is_row || a.is_limited)
      joint_rows_.push_back({JointRow::servo, {link, a.dof, a.q, 1}, 0, static_cast<int>(k), 0, -1, 0, 0});
  }
  limited_.assign(links_.size(), 0);
  for (const JointRow& row : joint_rows_)
    if (row.is_limit()) limited_[static_cast<std::size_t>(row.term.link)] = 1;
  scene_.limited = limited_.data();
  weighs_.assign(links_.size(), 0);
  for (const JointRow& row : joint_rows_)
    if (row.kind == JointRow::dry_friction ||
        (row.kind == JointRow::servo && actuators_[static_cast<std::size_t>(row.actuator)].is_row))
      weighs_[static_cast<std::size_t>(row.term.link)] = scene_.has_intervals = 1;
  scene_.weighs = weighs_.data();
  std::stable_sort(joint_rows_.begin(), joint_rows_.end(),
                   [](const JointRow& x, const JointRow& y) { return x.term.link > y.term.link; });
  scene_.most_travel = 1;
  for (const TendonRowSpec& row : spec.tendon_rows) add_tendon_row(row);
  for (const StrutRowSpec& row : spec.strut_rows) add_strut_row(row);
  if (!spec.strut_rows.empty()) scene_.most_travel = 1e300;  // levers of any length
  scene_.tendon_terms = tendon_terms_.data();
  scene_.has_tendons = !spec.tendon_rows.empty() || !spec.strut_rows.empty();
  scene_.n_joint_rows = static_cast<int>(joint_rows_.size());
  scene_.n_closures = static_cast<int>(closures_.size());
  scene_.n_actuators = static_cast<int>(actuators_.size());
  const auto path = [&](int link) { return link < 0 ? 0 : depth_[last_dof_[link]] + 1; };
  for (const JointRow& row : joint_rows_) {
    scene_.n_row_dofs += path(row.term.link);
    if (row.strut >= 0 && struts_[row.strut].n_tips == 2) scene_.n_row_dofs += path(struts_[row.strut].tips[1]);
    if (row.n_beside < row.n_more) scene_.n_row_dofs += path(tendon_terms_[row.first_more + row.n_beside].link);
  }
  const int deepest = scene_.tree.nv == 0 ? 0 : 1 + *std::max_element(depth_.begin(), depth_.end());
  const bool some_roll = std::any_of(materials_.begin(), materials_.end(), [](const auto& m) { return m.dim == 6; });
  scene_.most_contact_dofs = (some_roll ? 2 : 1) * 2 * deepest;
  scene_.joint_rows = joint_rows_.data();
  scene_.closures = closures_.data();
  scene_.n_couplings = static_cast<int>(couplings_.size());
  scene_.couplings = couplings_.data();
  scene_.coupling_terms = coupling_terms_.data();
  scene_.actuators = actuators_.data();
}

// The outermost joint comes first, then those inboard of it, then those of another branch, the outermost first.
void Simulation::add_tendon_row(const TendonRowSpec& spec) {
  if (spec.terms.empty()) throw std::invalid_argument("a tendon needs joints");
  const double along = spec.kind == JointRow::upper_limit ? -1 : 1;
  std::vector<JointTerm<double>> terms;
  double travel = 0;
  for (const auto& [dof, coefficient] : spec.terms) {
    const int q = coordinate_of_dof(dof);
    if (q < 0) throw std::invalid_argument("a tendon runs over axes only");
    terms.push_back({link_of_dof(dof), dof, q, along * coefficient});
    travel += std::fabs(coefficient);
  }
  scene_.most_travel = std::max(scene_.most_travel, travel);
  std::stable_sort(terms.begin(), terms.end(), [](const auto& x, const auto& y) { return x.link > y.link; });
  const auto carries = [&](const JointTerm<double>& inner, int tip) {
    return inner.link <= tip && tip < links_[static_cast<std::size_t>(inner.link)].subtree_end;
  };
  const auto branch_of = [&](auto begin) {
    const int tip = begin->link;
    return std::stable_partition(begin, terms.end(), [&](const auto& term) { return carries(term, tip); });
  };
  const auto other = branch_of(terms.begin());
  if (other != terms.end() && branch_of(other) != terms.end())
    throw std::invalid_argument("a tendon with limits or dry friction runs over joints of two branches at most");
  const int n_more = static_cast<int>(terms.size()) - 1, n_beside = static_cast<int>(other - terms.begin()) - 1;
  joint_rows_.push_back({spec.kind, terms.front(),
                         spec.kind == JointRow::dry_friction ? spec.bound : along * spec.bound, -1, 0,
                         static_cast<int>(tendon_terms_.size()), n_more, n_beside});
  tendon_terms_.insert(tendon_terms_.end(), terms.begin() + 1, terms.end());
}

// What is held is found on lanes for all environments; so are balls on planes, but without what holds them.
void Simulation::plan_held(const SceneSpec& scene_spec) {
  std::vector<HeldSpec> specs;
  for (const Closure<double>& c : closures_) {
    HeldSpec& spec = specs.emplace_back();
    for (int link : {c.a.link, c.b.link})
      if (link >= 0) spec.links.push_back(link);
    for (int r = 0; r < c.n_rows; ++r) spec.units.push_back(c.axes[r] < 3 ? 0 : 1);
  }
  for (std::size_t k = 0; k < couplings_.size(); ++k) {
    HeldSpec& spec = specs.emplace_back();
    for (int t = couplings_[k].begin; t < couplings_[k].end; ++t) spec.links.push_back(coupling_terms_[t].link);
    spec.units.push_back(2 + static_cast<int>(k));  // nothing to compare it with
  }
  const bool guided = std::any_of(scene_spec.guides.begin(), scene_spec.guides.end(),
                                  [](const GuideLaw& law) { return law.is_some(); });
  held_ = HeldStorage(scene_.tree, specs, guided ? scene_spec.guides : std::vector<GuideLaw>{});
  scene_.held = held_.plan();
  if (specs.empty()) return;
  scene_.n_balls = 0;
  for (ScenePair& pair : pairs_) pair.ball = -1;
}

void Simulation::find_switched(const SceneSpec& spec) {
  scene_.n_kept = scene_.n_joint_rows + scene_.held.n_rows;
  scene_.n_grips = static_cast<int>(spec.switched.size());
  if (spec.switched.empty()) return;
  grips_.assign(closures_.size(), -1);
  for (std::size_t g = 0; g < spec.switched.size(); ++g) {
    const std::size_t k = static_cast<std::size_t>(spec.switched[g]);
    if (k >= closures_.size() || grips_[k] >= 0 || (g > 0 && spec.switched[g] < spec.switched[g - 1]))
      throw std::invalid_argument("switched: expected closures in rising order");
    if (spec.closures[k].length > 0) throw std::invalid_argument("switched: a rod is never off");
    grips_[k] = static_cast<int>(g);
    static constexpr PoseArray here{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    switched_frames_.push_back(mount_on_link(scene_.tree, spec.closures[k].frame_b, here));
  }
  scene_.grips = grips_.data();
}

// The same with fewer closures; only numbers that count all of them are those of the whole.
const Scene& Simulation::scene(const std::vector<bool>& on) const {
  if (std::find(on.begin(), on.end(), false) == on.end()) return scene_;
  const std::lock_guard lock(parts_guard_);
  std::unique_ptr<const Simulation>& part = parts_[on];
  if (part) return part->scene_;
  SceneSpec spec = *spec_;
  spec.switched.clear(), spec.closures.clear(), spec.guides.clear();
  std::vector<int> grips, kept_rows;
  const auto keep = [&](int k) {
    const HeldPart& held = scene_.held.parts[k];
    kept_rows.push_back(held.first);
    if (spec_->guides.empty()) return;
    const auto first = spec_->guides.begin() + held.first;
    spec.guides.insert(spec.guides.end(), first, first + held.n_rows);
  };
  for (int k = 0; k < scene_.n_closures; ++k) {
    const int grip = scene_.grips[k];
    if (grip >= 0 && !on[static_cast<std::size_t>(grip)]) continue;
    spec.closures.push_back(spec_->closures[static_cast<std::size_t>(k)]);
    grips.push_back(grip);
    keep(k);
  }
  for (int k = 0; k < scene_.n_couplings; ++k) keep(scene_.n_closures + k);
  auto some = std::make_unique<Simulation>(model_, std::move(spec), dt_, integrator_);
  some->grips_ = std::move(grips), some->kept_rows_ = std::move(kept_rows);
  some->scene_.n_kept = scene_.n_kept, some->scene_.n_grips = scene_.n_grips;
  some->scene_.grips = some->grips_.data(), some->scene_.kept_rows = some->kept_rows_.data();
  part = std::move(some);
  return part->scene_;
}

void Simulation::add_springs(const SceneSpec& spec) {
  springs_ = spec.springs;
  for (Spring& s : springs_) {
    if (!(s.stiffness >= 0 && std::isfinite(s.stiffness) && std::isfinite(s.rest)))
      throw std::invalid_argument("spring of degree of freedom " + std::to_string(s.dof) +
                                  ": stiffness must be finite and not negative, rest finite");
    s.q = links_[link_of_dof(s.dof)].q;
  }
  scene_.n_springs = static_cast<int>(springs_.size());
  scene_.springs = springs_.data();
}

// Which share of dampers acts at the end of a kick: all, or in a step in halves what damped_share says.
void Simulation::find_damped(const SceneSpec& spec) {
  const std::size_t nv = static_cast<std::size_t>(scene_.tree.nv);
  if (spec.damping.size() != nv) throw std::invalid_argument("damping needs one number per degree of freedom");
  if (spec.inertias.size() != nv) throw std::invalid_argument("inertias need one number per degree of freedom");
  damped_.assign(nv, 1.0);
  if (!scene_.is_verlet()) return;
  std::vector<double> rates = spec.damping;
  for (const Actuator& a : spec.actuators) rates[static_cast<std::size_t>(a.dof)] += std::max(a.kd, 0.0);
  for (std::size_t f = 0; f < nv; ++f)
    if (spec.inertias[f] > 0) damped_[f] = damped_share(scene_.kick * rates[f] / spec.inertias[f]);
}

void Simulation::set_rates(Actuator& a) const {
  const double kick = scene_.kick;
  a.ahead = scene_.ahead;
  switch (scene_.integrator) {
    case Integrator::implicit: a.rate = a.kd + dt_ * a.kp, a.past = 0; return;
    case Integrator::verlet:
      a.rate = damped_[static_cast<std::size_t>(a.dof)] * a.kd + kick * a.kp, a.past = a.rate - a.kd;
      return;
    default: a.rate = 0, a.past = -a.kd;
  }
}

// Dampers, implicit springs and implicit servos are evaluated at the end of the step: (H + dt B + dt^2 K) a = ...
// In half a step of Newmark's rule, h long, it is (H + h s B + h^2 K) a = ... with the share s of damped_share.
void Simulation::add_inertia(const SceneSpec& spec) {
  const std::size_t nv = static_cast<std::size_t>(scene_.tree.nv);
  const double kick = scene_.kick;
  damping_ = spec.damping;
  std::vector<double> added(nv);
  for (std::size_t f = 0; f < nv && scene_.integrator != Integrator::rk4; ++f)
    added[f] = damped_[f] * (kick * damping_[f]);
  const bool implicit = scene_.integrator == Integrator::implicit || scene_.is_verlet();
  for (const Spring& s : springs_)
    if (implicit) added[static_cast<std::size_t>(s.dof)] += kick * kick * s.stiffness;
  for (Link<double>& l : links_) {
    for (int k = 0; k < l.nv; ++k) l.armature[k] += added[static_cast<std::size_t>(l.v + k)];
    rotors_.push_back(l.armature[0]);
  }
  for (std::size_t k = 0; k < actuators_.size(); ++k) {
    const Actuator& a = actuators_[k];
    const double value = kick * a.rate;
    if (!implicit || a.is_row || value == 0) continue;
    servo_inertias_.push_back({link_of_dof(a.dof), static_cast<int>(k), value});
    links_[servo_inertias_.back().link].armature[0] += value;
  }
  scene_.damping = damping_.data();
}

// Nothing drags at what is fixed to the world.
void Simulation::add_medium(const SceneSpec& spec) {
  const auto compile = [&](const auto& bodies, auto& drags) {
    for (const auto& body : bodies) {
      drags.push_back(compile_drag(scene_.tree, spec.medium, body));
      if (drags.back().link < 0) drags.pop_back();
    }
  };
  compile(spec.boxes, boxes_);
  compile(spec.ellipsoids, ellipsoids_);
  scene_.medium = spec.medium;
  scene_.n_boxes = static_cast<int>(boxes_.size());
  scene_.n_ellipsoids = static_cast<int>(ellipsoids_.size());
  scene_.boxes = boxes_.data();
  scene_.ellipsoids = ellipsoids_.data();
  scene_.has_link_forces |= scene_.n_boxes + scene_.n_ellipsoids > 0;
}

void Simulation::add_transmissions(const SceneSpec& spec) {
  for (const TransmissionSpec& s : spec.transmissions) {
    Transmission t = s.law;
    t.first_term = static_cast<int>(transmission_terms_.size());
    t.n_terms = static_cast<int>(s.terms.size());
    for (TransmissionTerm term : s.terms) {
      term.q = coordinate_of_dof(term.dof);
      if (term.brake >= static_cast<int>(actuators_.size()))
        throw std::invalid_argument("a transmission is braked by an actuator");
      if (scene_.integrator == Integrator::rk4) term.brake = -1;  // has no rows
      if (term.q < 0 && (t.kp != 0 || t.gain_length != 0 || t.is_muscle))
        throw std::invalid_argument("a transmission whose force depends on its length needs axes");
      transmission_terms_.push_back(term);
    }
    if (t.strut >= scene_.n_struts) throw std::invalid_argument("transmission: strut index out of range");
    t.link = -1;
    if (s.link >= 0) {
      const Mount<double> at = mount_on_link(scene_.tree, s.link, s.placement);
      t.link = at.link;
      for (int r = 0; r < 3; ++r) {
        t.wrench[r] = at.R[3 * r] * s.wrench[0] + at.R[3 * r + 1] * s.wrench[1] + at.R[3 * r + 2] * s.wrench[2];
        t.wrench[3 + r] = at.R[3 * r] * s.wrench[3] + at.R[3 * r + 1] * s.wrench[4] + at.R[3 * r + 2] * s.wrench[5];
      }
      for (int r = 0; r < 3; ++r) {
        const int y = (r + 1) % 3, z = (r + 2) % 3;
        t.wrench[3 + r] += at.p[y] * t.wrench[z] - at.p[z] * t.wrench[y];
      }
    }
    if (t.sticky >= 0) {
      std::fill(strutted_.begin(), strutted_.end(), 1);
      scene_.strutted = strutted_.data();
    }
    scene_.has_link_forces |= t.link >= 0 || t.sticky >= 0;
    transmissions_.push_back(t);
  }
  activations_ = spec.activations;
  activated_laws_ = spec.activated_laws;
  const int n_laws = static_cast<int>(actuators_.size() + transmissions_.size());
  for (const ActivatedLaw& a : activated_laws_)
    if (a.activation < 0 || a.activation >= static_cast<int>(activations_.size()) || a.law < 0 || a.law >= n_laws)
      throw std::invalid_argument("activated law: index out of range");
  scene_.n_transmissions = static_cast<int>(transmissions_.size());
  scene_.n_activations = static_cast<int>(activations_.size());
  scene_.n_activated_laws = static_cast<int>(activated_laws_.size());
  scene_.transmissions = transmissions_.data();
  scene_.transmission_terms = transmission_terms_.data();
  scene_.activations = activations_.data();
  scene_.activated_laws = activated_laws_.data();
}

// Nothing carries what is fixed to the world.
void Simulation::add_lifts(const SceneSpec& spec) {
  lifted_.assign(links_.size(), 0);
  for (const LiftSpec& s : spec.lifts) {
    const Mount<double>& mount = scene_.tree.mounts[s.link];
    if (mount.link < 0) continue;
    Lift lift{mount.link, s.link, s.mass, {}};
    for (int r = 0; r < 3; ++r)
      lift.moment[r] = s.mass * (mount.R[3 * r] * s.center[0] + mount.R[3 * r + 1] * s.center[1] +
                                 mount.R[3 * r + 2] * s.center[2] + mount.p[r]);
    lifts_.push_back(lift);
    for (int i = mount.link; i >= 0; i = links_[static_cast<std::size_t>(i)].parent)
      lifted_[static_cast<std::size_t>(i)] = 1;
  }
  scene_.n_lifts = static_cast<int>(lifts_.size());
  scene_.lifts = lifts_.data();
  scene_.lifted = lifts_.empty() ? nullptr : lifted_.data();
  scene_.has_link_forces |= !lifts_.empty();
}

// Where what pulls at a link is added up; of the last strut, which is being added.
int Simulation::strut_slot(const Strut& strut, int link) {
  if (link < 0) return -1;
  for (std::size_t j = static_cast<std::size_t>(strut.first_link); j < strut_links_.size(); ++j)
    if (strut_links_[j].link == link) return static_cast<int>(j);
  strut_links_.push_back({link, 0});
  return static_cast<int>(strut_links_.size()) - 1;
}

StrutPoint Simulation::place_strut_point(const Strut& strut, const StrutSpec::Point& on) {
  StrutPoint point{-1, {on.p[0], on.p[1], on.p[2]}, -1, 0, -1};
  if (on.link < 0) return point;
  const Mount<double>& mount = scene_.tree.mounts[on.link];
  point.link = mount.link;
  point.slot = strut_slot(strut, mount.link);
  for (int r = 0; r < 3; ++r)
    point.p[r] = mount.R[3 * r] * on.p[0] + mount.R[3 * r + 1] * on.p[1] + mount.R[3 * r + 2] * on.p[2] + mount.p[r];
  return point;
}

void Simulation::add_struts(const SceneSpec& spec) {
  strutted_.assign(links_.size(), 0);
  for (const StrutSpec& s : spec.struts) {
    Strut strut = s.law;
    strut.first_point = static_cast<int>(strut_points_.size());
    strut.n_points = static_cast<int>(s.points.size());
    scene_.most_strut_points = std::max(scene_.most_strut_points, strut.n_points);
    strut.first_link = static_cast<int>(strut_links_.size());
    for (std::size_t k = 0; k < s.points.size(); ++k) {
      strut_points_.push_back(place_strut_point(strut, s.points[k]));
      if (k > 0) strut_points_.back().share = s.shares.at(k - 1);
    }
    for (const StrutSpec::Bend& b : s.bends) {
      StrutBend bend{mount_on_link(scene_.tree, b.link, b.placement), -1, b.is_ball, b.radius, !b.side.empty(), {}};
      bend.slot = strut_slot(strut, bend.at.link);
      if (bend.has_side) bend.side = place_strut_point(strut, b.side.front());
      strut_points_.at(static_cast<std::size_t>(strut.first_point + b.span + 1)).bend =
          static_cast<int>(strut_bends_.size());
      strut_bends_.push_back(bend);
    }
    strut.n_links = static_cast<int>(strut_links_.size()) - strut.first_link;
    find_strut_path(strut);
    struts_.push_back(strut);
  }
  scene_.n_struts = static_cast<int>(struts_.size());
  scene_.n_strut_links = static_cast<int>(strut_links_.size());
  scene_.struts = struts_.data();
  scene_.strut_points = strut_points_.data();
  scene_.strut_bends = strut_bends_.data();
  scene_.strut_links = strut_links_.data();
  scene_.strut_paths = strut_paths_.data();
  scene_.strutted = struts_.empty() ? nullptr : strutted_.data();
}

// The links that some of the points move with and others do not: what moves all of them leaves the length alone.
void Simulation::find_strut_path(Strut& strut) {
  const auto begin = strut_links_.begin() + strut.first_link, end = strut_links_.end();
  const auto is_inboard = [&](int inner, int outer) {
    return inner <= outer && outer < links_[static_cast<std::size_t>(inner)].subtree_end;
  };
  const auto is_on_world = [&](const StrutPoint& p) {
    return p.link < 0 || (p.bend >= 0 && strut_bends_[static_cast<std::size_t>(p.bend)].at.link < 0);
  };
  const bool is_anchored = std::any_of(strut_points_.begin() + strut.first_point, strut_points_.end(), is_on_world);
  strut.first_path = static_cast<int>(strut_paths_.size());
  for (int i = static_cast<int>(links_.size()) - 1; i >= 0; --i) {
    const auto moved = std::count_if(begin, end, [&](const StrutLink& on) { return is_inboard(i, on.link); });
    if (moved == 0) continue;
    strutted_[static_cast<std::size_t>(i)] = 1;
    if (moved == end - begin && !is_anchored) continue;
    const auto own = std::find_if(begin, end, [&](const StrutLink& on) { return on.link == i; });
    const int slot = own == end ? -1 : static_cast<int>(own - strut_links_.begin());
    strut_paths_.push_back({i, slot, scene_.n_strut_travels, 0});
    scene_.n_strut_travels += links_[static_cast<std::size_t>(i)].nv;
  }
  strut.n_path = static_cast<int>(strut_paths_.size()) - strut.first_path;
  const auto first = strut_paths_.begin() + strut.first_path;
  for (auto on = first; on != strut_paths_.end(); ++on) {
    const auto is_on_path = [&](int link) {
      return std::any_of(first, strut_paths_.end(), [&](const StrutPathLink& each) { return each.link == link; });
    };
    on->hands_on = is_on_path(links_[static_cast<std::size_t>(on->link)].parent);
    const bool is_tip = std::none_of(
        begin, end, [&](const StrutLink& each) { return each.link != on->link && is_inboard(on->link, each.link); });
    if (!is_tip) continue;
    if (strut.n_tips < 2) strut.tips[strut.n_tips] = on->link;
    ++strut.n_tips;
  }
  for (auto each = begin; each != end; ++each)
    each->end = strut.n_tips > 0 && is_inboard(each->link, strut.tips[0]) ? 0 : 1;
}

void Simulation::add_strut_row(const StrutRowSpec& spec) {
  const Strut& strut = struts_.at(static_cast<std::size_t>(spec.strut));
  if (strut.n_tips > 2)
    throw std::invalid_argument("a strut with limits or dry friction runs over links of two branches at most");
  if (strut.n_tips == 0) return;  // nothing changes its length
  const double along = spec.kind == JointRow::upper_limit ? -1 : 1;
  const int tip = strut.tips[0];
  joint_rows_.push_back({spec.kind,
                         {tip, last_dof_[tip], -1, along},
                         spec.kind == JointRow::dry_friction ? spec.bound : along * spec.bound,
                         -1,
                         0,
                         0,
                         0,
                         0,
                         spec.strut});
}

void Simulation::scale_inertias(const double* masses, const double* gains, double* inertias) const {
  const std::size_t rotor = inertia_numbers - 1;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    std::fill_n(inertias + inertia_numbers * i, rotor, 0.0);
    inertias[inertia_numbers * i + rotor] = rotors_[i];
  }
  const std::vector<InertiaShare>& shares = model_.inertia_shares();
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const int link = scene_.tree.mounts[k].link;
    if (link < 0) continue;
    double* const row = inertias + inertia_numbers * link;
    for (std::size_t j = 0; j < shares[k].size(); ++j) row[j] += (masses ? masses[k] : 1) * shares[k][j];
  }
  for (const ServoInertia& s : servo_inertias_)
    inertias[inertia_numbers * s.link + rotor] += (gains ? gains[s.actuator] : 1) * s.value;
}

void Simulation::find_touchable() {
  std::vector<bool> tree(links_.size(), false);
  const auto touch = [&](int link) {
    if (link >= 0) tree[static_cast<std::size_t>(root_[static_cast<std::size_t>(link)])] = true;
  };
  for (const ScenePair& pair : pairs_) touch(shapes_[pair.a].link), touch(shapes_[pair.b].link);
  for (std::size_t k = 0; rules_ && k < shapes_.size(); ++k) touch(shapes_[k].link);
  for (const JointRow& row : joint_rows_) touch(row.term.link);
  for (const JointTerm<double>& term : tendon_terms_) touch(term.link);
  for (const JointRow& row : joint_rows_)
    if (row.strut >= 0) touch(struts_[row.strut].tips[struts_[row.strut].n_tips - 1]);
  for (const Closure<double>& c : closures_) touch(c.a.link), touch(c.b.link);
  for (const CouplingTerm<double>& term : coupling_terms_) touch(term.link);
  for (std::size_t i = 0; i < links_.size(); ++i)
    touchable_.push_back(tree[static_cast<std::size_t>(root_[i])] ? 1 : 0);
  scene_.touchable = touchable_.data();
}

}  // namespace featherweight
