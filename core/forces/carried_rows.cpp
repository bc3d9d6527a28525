#include "forces/carried_rows.hpp"

#include <algorithm>
#include <cmath>

#include "articulated/dofs.hpp"
#include "rows/closure.hpp"
#include "rows/coupling.hpp"
#include "step/advance.hpp"
#include "step/along_row.hpp"

namespace featherweight {

using namespace host;

namespace {

std::size_t index(int k) { return static_cast<std::size_t>(k); }
Vec3<double> row_of(const double* frame, int k) { return {frame[3 * k], frame[3 * k + 1], frame[3 * k + 2]}; }

}  // namespace

CarriedRows::CarriedRows(const LastStep& step, double* contact_impulses, double* joint_impulses)
    : step_(step), scene_(*step.scene), sliding_(index(step.contacts->count), 0) {
  place_links();
  measure_struts();
  find_lengths();
  find_velocities();
  set_tolerances();
  joined_.resize(index(scene_.tree.n_links));
  for (int i = 0; i < scene_.tree.n_links; ++i) joined_[index(i)] = i;
  add_closures(joint_impulses + scene_.n_joint_rows);
  add_joint_rows(joint_impulses);
  for (std::size_t k = 0; k < sliding_.size(); ++k) add_contact(k, contact_impulses + 6 * k);
  number_islands();
}

// -- where everything is, and how it moves ---------------------------------------------------------------------------

void CarriedRows::place_links() {
  const Tree<double>& tree = scene_.tree;
  const Pose<double> world = identity_pose<double>();
  std::vector<double> state(index(tree.n_states));
  poses_.resize(index(tree.n_links));
  axes_.resize(index(tree.nv));
  for (int i = 0; i < tree.n_links; ++i) {
    const Link<double>& l = tree.links[i];
    visit(l.kind, [&](auto joint) {
      using J = decltype(joint);
      Pose<double>& pose = poses_[index(i)];
      place(joint, l, step_.q + l.q, state.data() + l.state, l.parent < 0 ? world : poses_[index(l.parent)], pose);
      const Vec3<double> r = pose.p - poses_[index(scene_.root[i])].p;
      for (int k = 0; k < J::nv; ++k)
        axes_[index(l.v + k)] = SeenFromRoot<double>{pose.R, r}(J::template column<double>(l, k));
    });
  }
}

CarriedRows::Body CarriedRows::body_of(int link) const {
  const Link<double>& l = scene_.tree.links[link];
  const double* const own = step_.inertias ? step_.inertias + index(inertia_numbers * link) : nullptr;
  const double mass = own ? own[0] : l.mass;
  const Vec3<double> h = own ? Vec3<double>{own[1], own[2], own[3]} : vec3(l.h);
  if (!(mass > 0.0)) return {0.0, zero3<double>(), 0.0};
  const double trace = own ? own[4] + own[7] + own[9] : l.inertia[0] + l.inertia[3] + l.inertia[5];
  return {mass, h * (1.0 / mass), std::max(0.5 * trace - dot(h, h) / mass, 0.0) / mass};
}

void CarriedRows::measure_struts() {
  const auto is_along_strut = [](const JointRow& row) { return row.strut >= 0; };
  if (std::none_of(scene_.joint_rows, scene_.joint_rows + scene_.n_joint_rows, is_along_strut)) return;
  std::vector<Force<double>> wrenches(index(scene_.n_strut_links)), carried(poses_.size());
  strut_lengths_.resize(index(scene_.n_struts));
  strut_travels_.resize(index(scene_.n_strut_travels));
  struts_ = {strut_lengths_.data(), strut_travels_.data(), wrenches.data()};
  StrutMeasure<double>(scene_, poses_.data(), carried.data(), struts_).measure();
}

// To the nearest power of two, so that rounding of masses changes no bit.
void CarriedRows::find_lengths() {
  lengths_.assign(index(scene_.tree.n_links), 0.0);
  std::vector<int> counts(index(scene_.tree.n_links), 0);
  for (int i = 0; i < scene_.tree.n_links; ++i) {
    const Body body = body_of(i);
    lengths_[index(scene_.root[i])] += body.gyration2;
    counts[index(scene_.root[i])] += body.mass > 0.0;
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    lengths_[i] = lengths_[i] > 0.0 ? std::exp2(std::round(0.5 * std::log2(lengths_[i] / counts[i]))) : 1.0;
}

// At the end of the step, in the axes at its start.
void CarriedRows::find_velocities() {
  const Tree<double>& tree = scene_.tree;
  std::vector<Vec3<double>> centers(index(tree.n_links));
  for (int i = 0; i < tree.n_links; ++i) centers[index(i)] = body_of(i).center;
  v_end_.resize(index(tree.nv));
  for (int f = 0; f < tree.nv; ++f) v_end_[index(f)] = step_.v[f] + step_.dt * step_.acceleration[f];
  add_turning_of_axes(tree, centers.data(), step_.v, step_.dt, v_end_.data());
}

void CarriedRows::set_tolerances() {
  double speed = step_.fall > 0.0 ? step_.fall : step_.dt;
  const auto see = [&](const double* v) {
    for (int k = 0; k < step_.contacts->count; ++k) {
      const Contact& c = step_.contacts->data[k];
      Vec3<double> u = zero3<double>();
      for (int side = 0; side < 2; ++side) {
        const int link = scene_.shapes[side ? c.b : c.a].link;
        if (link < 0) continue;
        const Vec3<double> r =
            Vec3<double>{c.position[0], c.position[1], c.position[2]} - poses_[index(scene_.root[link])].p;
        for (int f = scene_.last_dof[link]; f >= 0; f = scene_.tree.dof_parent[f]) {
          const Motion<double>& axis = axes_[index(f)];
          u += (axis.lin + cross(axis.ang, r)) * (side ? -v[f] : v[f]);
        }
      }
      speed = std::max(speed, std::sqrt(dot(u, u)));
    }
  };
  see(step_.v);
  see(v_end_.data());
  still_ = std::max(CarriedTuning::still, CarriedTuning::still_residuals * step_.residual) * speed;
  closed_ = CarriedTuning::closed_share * step_.fall * step_.dt + step_.dt * still_;
}

// -- islands ---------------------------------------------------------------------------------------------------------

int CarriedRows::find(int root) {
  while (joined_[index(root)] != root) root = joined_[index(root)] = joined_[index(joined_[index(root)])];
  return root;
}
void CarriedRows::join(int link_a, int link_b) {
  const int a = find(scene_.root[link_a]), b = find(scene_.root[link_b]);
  joined_[index(std::max(a, b))] = std::min(a, b);
}
void CarriedRows::number_islands() {
  const int n = static_cast<int>(all_.blocks.size());
  order_.resize(index(n));
  for (int j = 0; j < n; ++j) order_[index(j)] = j, root_of_[index(j)] = find(root_of_[index(j)]);
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return root_of_[index(a)] < root_of_[index(b)]; });
  for (int k = 0; k < n; ++k)
    if (k == 0 || root_of_[index(order_[index(k)])] != root_of_[index(order_[index(k - 1)])]) starts_.push_back(k);
  starts_.push_back(n);
}

void CarriedRows::gather(int island, Load& load) const {
  load.clear();
  std::vector<int> own(index(scene_.tree.nv), -1);  // number of a degree of freedom within the load
  for (int k = starts_[index(island)]; k < starts_[index(island) + 1]; ++k) {
    const LoadBlock& from = all_.blocks[index(order_[index(k)])];
    LoadBlock block = from;
    block.first = static_cast<int>(load.impulses.size());
    const int moved = block.first - from.first;
    if (block.normal >= 0) block.normal += moved;
    for (LoadFriction& f : block.frictions) f.first += moved;
    block.dofs = load.dofs.size(), block.jacobian = load.jacobian.size();
    for (int i = 0; i < from.n_dofs; ++i) {
      int& dof = own[index(all_.dofs[from.dofs + index(i)])];
      if (dof < 0) dof = load.n_dofs++;
      load.dofs.push_back(dof);
    }
    const auto J = all_.jacobian.begin() + static_cast<std::ptrdiff_t>(from.jacobian);
    load.jacobian.insert(load.jacobian.end(), J, J + from.rows * from.n_dofs);
    const auto x = all_.impulses.begin() + from.first;
    load.impulses.insert(load.impulses.end(), x, x + from.rows);
    load.blocks.push_back(block);
  }
}
void CarriedRows::take_over(int island, const Load& load) const {
  std::size_t row = 0;
  for (int k = starts_[index(island)]; k < starts_[index(island) + 1]; ++k) {
    const LoadBlock& from = all_.blocks[index(order_[index(k)])];
    for (int r = from.first; r < from.first + from.rows; ++r, ++row)
      *rows_[index(r)].impulse = load.impulses[row] * rows_[index(r)].length;
  }
}

// -- rows ------------------------------------------------------------------------------------------------------------

LoadBlock& CarriedRows::begin_block(LoadBlock::Law law, const End* ends, int n_ends) {
  LoadBlock block{};
  block.law = law;
  block.first = static_cast<int>(all_.impulses.size());
  block.dofs = all_.dofs.size(), block.jacobian = all_.jacobian.size();
  // the degrees of freedom inboard of both ends are the last of both paths
  for (int e = 0; e < n_ends; ++e)
    for (int f = scene_.last_dof[ends[e].link]; f >= 0; f = scene_.tree.dof_parent[f]) {
      const auto begin = all_.dofs.begin() + static_cast<std::ptrdiff_t>(block.dofs);
      if (e > 0 && std::find(begin, all_.dofs.end(), f) != all_.dofs.end()) break;
      all_.dofs.push_back(f), ++block.n_dofs;
    }
  all_.blocks.push_back(block);
  root_of_.push_back(scene_.root[ends[0].link]);
  return all_.blocks.back();
}
void CarriedRows::drop_block() {
  const LoadBlock& block = all_.blocks.back();
  all_.impulses.resize(index(block.first)), rows_.resize(index(block.first));
  all_.dofs.resize(block.dofs), all_.jacobian.resize(block.jacobian);
  all_.blocks.pop_back(), root_of_.pop_back();
}

// A unit force along an axis at each end, or a unit moment about it; length: by which its impulse is divided.
void CarriedRows::add_row(LoadBlock& block, const Vec3<double>& axis, bool turns, double length, const End* ends,
                          int n_ends, double* impulse) {
  const std::size_t first = all_.jacobian.size();
  all_.jacobian.resize(first + index(block.n_dofs), 0.0);
  const int* const dofs = all_.dofs.data() + block.dofs;
  for (int e = 0; e < n_ends; ++e) {
    const Vec3<double> r = ends[e].point - poses_[index(scene_.root[ends[e].link])].p;
    const Vec3<double> lin = turns ? zero3<double>() : axis, ang = turns ? axis : cross(r, axis);
    for (int f = scene_.last_dof[ends[e].link]; f >= 0; f = scene_.tree.dof_parent[f]) {
      const double felt = dot(axes_[index(f)].lin, lin) + dot(axes_[index(f)].ang, ang);
      all_.jacobian[first + index(static_cast<int>(std::find(dofs, dofs + block.n_dofs, f) - dofs))] +=
          felt * ends[e].sign * length;
    }
  }
  rows_.push_back({impulse, length});
  all_.impulses.push_back(*impulse / length);
  ++block.rows;
}

// Velocity along a row, in m/s whatever it is a row of.
double CarriedRows::along(const LoadBlock& block, int row, const double* v) const {
  const double* const J = all_.jacobian.data() + block.jacobian + index((row - block.first) * block.n_dofs);
  double sum = 0.0;
  for (int k = 0; k < block.n_dofs; ++k) sum += J[k] * v[all_.dofs[block.dofs + index(k)]];
  return sum;
}

double CarriedRows::length_at(const End* ends, int n_ends) const {
  double length = 0.0;
  for (int e = 0; e < n_ends; ++e) length = std::max(length, lengths_[index(scene_.root[ends[e].link])]);
  return length;
}

void CarriedRows::add_closures(double* impulses) {
  const auto yields = [&](int row) { return scene_.held.guides && scene_.held.guides[row].compliance > 0; };
  for (int k = 0; k < scene_.n_closures; ++k) {
    const Closure<double>& closure = scene_.closures[k];
    const int first = scene_.held.parts[k].first;
    double* const own = impulses + scene_.first_kept(k);
    const Pose<double> frames[2] = {frame_in_world(closure.a, poses_.data()),
                                    second_frame_in_world(closure, grip_of(scene_, k, step_.grips), poses_.data())};
    End ends[2];
    int n = 0;
    for (int side = 0; side < 2; ++side)
      if (const int link = side ? closure.b.link : closure.a.link; link >= 0)
        ends[n++] = {link, frames[1].p, side ? -1.0 : 1.0};
    if (n > 0) {
      if (n == 2) join(ends[0].link, ends[1].link);
      LoadBlock& block = begin_block(LoadBlock::any, ends, n);
      const double length = length_at(ends, n);
      for (int r = 0; r < closure.n_rows; ++r) {
        if (yields(first + r)) continue;
        const bool turns = closure.length == 0 && closure.axes[r] >= 3;
        const Vec3<double> axis = closure.length > 0 ? line_between(frames[0], frames[1]).direction
                                                     : column(frames[0].R, closure.axes[r] % 3);
        add_row(block, axis, turns, turns ? length : 1.0, ends, n, own + r);
      }
      if (block.rows == 0) drop_block();
    }
  }
  for (int k = 0; k < scene_.n_couplings; ++k) {
    const int part = scene_.n_closures + k;
    if (!yields(scene_.held.parts[part].first)) add_coupling(scene_.couplings[k], impulses + scene_.first_kept(part));
  }
}

// Its impulse is in the unit of its first joint.
void CarriedRows::add_coupling(const Coupling& coupling, double* impulse) {
  const CouplingTerm<double>* const terms = scene_.coupling_terms;
  const int first = terms[coupling.begin].link;
  const double length = unit_of_joint(first);
  LoadBlock block{};
  block.law = LoadBlock::any;
  block.first = static_cast<int>(all_.impulses.size()), block.rows = 1;
  block.dofs = all_.dofs.size(), block.jacobian = all_.jacobian.size();
  for (int t = coupling.begin; t < coupling.end; ++t) {
    join(first, terms[t].link);
    all_.dofs.push_back(terms[t].dof), ++block.n_dofs;
    all_.jacobian.push_back(coupling_entry(terms[t], step_.q) * length);
  }
  rows_.push_back({impulse, length});
  all_.impulses.push_back(*impulse / length);
  all_.blocks.push_back(block);
  root_of_.push_back(scene_.root[first]);
}

// By which impulses along a joint are divided [m].
double CarriedRows::unit_of_joint(int link) const {
  const JointKind kind = scene_.tree.links[link].kind;
  const bool travels = kind == JointKind::prismatic_x || kind == JointKind::prismatic_y ||
                       kind == JointKind::prismatic_z || kind == JointKind::prismatic_turned;
  return travels ? 1.0 : lengths_[index(scene_.root[link])];
}

void CarriedRows::add_joint_rows(double* impulses) {
  for (int k = 0; k < scene_.n_joint_rows; ++k) {
    const JointRow& row = scene_.joint_rows[k];
    const int link = row.term.link;
    const double length = row.strut >= 0 ? 1.0 : unit_of_joint(link);
    const auto read = [](double x) { return x; };
    const double sigma = along_row(scene_, struts_, row, v_end_.data(), read);
    const double gap = row.is_limit() ? gap_of_row(scene_, struts_, row, step_.q, read) : 0.0;
    LoadBlock block{};
    if (row.is_limit()) {
      if (!(impulses[k] > 0.0 || std::max(gap, 0.0) * length + step_.dt * sigma * length <= closed_)) continue;
      block.law = LoadBlock::pushing;
    } else {
      if (row.kind == JointRow::servo || std::fabs(sigma) * length > still_) continue;
      block.law = LoadBlock::interval;
      block.lower = -row.bound * step_.dt / length, block.upper = row.bound * step_.dt / length;
    }
    block.first = static_cast<int>(all_.impulses.size()), block.rows = 1;
    if (row.is_limit()) block.normal = block.first;
    block.dofs = all_.dofs.size(), block.jacobian = all_.jacobian.size();
    const auto add_term = [&](int dof, double coefficient) {
      all_.dofs.push_back(dof), ++block.n_dofs;
      all_.jacobian.push_back(coefficient * length);
    };
    if (row.strut >= 0) {
      const Strut& strut = scene_.struts[row.strut];
      join(link, strut.tips[strut.n_tips - 1]);
      for_strut_dofs(scene_, strut,
                     [&](int dof, int place) { add_term(dof, row.term.coefficient * struts_.travels[place]); });
    } else {
      add_term(row.term.dof, row.term.coefficient);
      for (int t = row.first_more; t < row.first_more + row.n_more; ++t) {
        join(link, scene_.tendon_terms[t].link);
        add_term(scene_.tendon_terms[t].dof, scene_.tendon_terms[t].coefficient);
      }
    }
    all_.impulses.push_back(impulses[k] / length);
    rows_.push_back({impulses + k, length});
    all_.blocks.push_back(block);
    root_of_.push_back(scene_.root[link]);
  }
}

// Of the rows added last. returned: the share of its velocity at the start that a strike returns to sticking points.
void CarriedRows::add_friction(LoadBlock& block, int rows, double bound, double returned, unsigned char bit,
                               std::size_t contact) {
  LoadFriction& f = block.frictions[block.n_frictions++];
  f = {block.first + block.rows - rows, rows, bound, false};
  double slip[2] = {0.0, 0.0}, speed2 = 0.0, size2 = 0.0;
  for (int r = 0; r < rows; ++r) {
    slip[r] = along(block, f.first + r, v_end_.data()) + returned * along(block, f.first + r, step_.v);
    speed2 += slip[r] * slip[r];
    size2 += all_.impulses[index(f.first + r)] * all_.impulses[index(f.first + r)];
  }
  const double largest = CarriedTuning::on_bound * bound * all_.impulses[index(block.first)];
  f.slides = speed2 > still_ * still_ && size2 >= largest * largest;
  if (!f.slides) return;
  sliding_[contact] = static_cast<unsigned char>(sliding_[contact] | bit);
  for (int r = 0; r < rows; ++r)
    f.along[r] = size2 > 0.0 ? all_.impulses[index(f.first + r)] / std::sqrt(size2) : -slip[r] / std::sqrt(speed2);
}

void CarriedRows::add_contact(std::size_t k, double* impulse) {
  const Contact& c = step_.contacts->data[k];
  const PairMaterial& material = scene_.materials[c.material];
  End ends[2];
  int n = 0;
  const Vec3<double> point{c.position[0], c.position[1], c.position[2]};
  for (int side = 0; side < 2; ++side)
    if (const int link = scene_.shapes[side ? c.b : c.a].link; link >= 0) ends[n++] = {link, point, side ? -1.0 : 1.0};
  if (n == 0) return;
  const Vec3<double> t1 = row_of(c.frame, 0), t2 = row_of(c.frame, 1), normal = row_of(c.frame, 2);
  LoadBlock& block = begin_block(LoadBlock::pushing, ends, n);
  add_row(block, normal, false, 1.0, ends, n, impulse + 2);
  const double sigma = along(block, block.first, v_end_.data()), before = along(block, block.first, step_.v);
  const bool strikes = material.is_elastic() && before < 0.0 && c.gap + step_.dt * before <= 0.0;
  const bool bounced = strikes && sigma <= -material.restitution * before + still_;
  const bool touching = impulse[2] > 0.0 || std::max(c.gap, 0.0) + step_.dt * sigma <= closed_ || bounced;
  if (material.compliance > 0.0 ? !(impulse[2] > 0.0) : !touching) return drop_block();
  block.normal = block.first;
  const double mu = material.friction * step_.friction;
  if (material.dim >= 3 && mu > 0.0) {
    add_row(block, t1, false, 1.0, ends, n, impulse);
    add_row(block, t2, false, 1.0, ends, n, impulse + 1);
    add_friction(block, 2, mu, strikes && -before > step_.fall ? material.tangential_restitution : 0.0, 1, k);
  }
  if (material.dim >= 4 && material.torsional > 0.0 && step_.friction > 0.0) {
    add_row(block, normal, true, material.torsional, ends, n, impulse + 5);
    add_friction(block, 1, step_.friction, 0.0, 2, k);
  }
  if (material.dim == 6 && material.rolling > 0.0 && step_.friction > 0.0) {
    add_row(block, t1, true, material.rolling, ends, n, impulse + 3);
    add_row(block, t2, true, material.rolling, ends, n, impulse + 4);
    add_friction(block, 2, step_.friction, 0.0, 4, k);
  }
  if (n == 2) join(ends[0].link, ends[1].link);
  if (!(material.compliance > 0.0)) return;
  // the spring says how much: its row only does what it does, and moves no more
  block.normal = -1, block.known = impulse[2];
  ++block.first, --block.rows, block.jacobian += index(block.n_dofs);
}

}  // namespace featherweight
