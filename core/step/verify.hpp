// step/verify.hpp -- contacts are verified against the motion of the step.
//
// The row of an open gap keeps a shape out of the half space beyond the other's surface, through its normal at the
// start of the step. Where a path leads around a corner there is nothing to keep it out of. Planes are half spaces, and
// pairs of shapes that pushed in the step before are what they seem; all others are doubtful:
//   before the solve   those whose rows would act are swept over the motion without impulses, or, of trees that rest on
//                      something, over the motion they have: what they rest on keeps it
//   after it           those that pushed over the motion without their own push, those put aside over the motion as it
//   is
// What misses is put aside, and what meets along another normal than that of the start has the contacts of where and
// when it meets. Of several that a link meets only the first is certain: the others are put aside as well, until it is
// known where the link goes from there. Where the verdict changes after a solve, the environment is solved again.
//
// A height field is many surfaces. Of one that carries a shape, the faces that lean another way than those it rests on
// are a pair of their own, swept past what carries it.
#pragma once
#include "scene/ahead.hpp"
#include "step/doubts.hpp"
#include "step/strays.hpp"
#include "step/workspace.hpp"

namespace featherweight::FW_ISA {

// A pair of shapes that pushed: what its own impulses did to the links of both, about their roots.
struct PairPush {
  int first;  // of its points, in the list
  Motion<double> own[2];
};

// How the points [first, last) of a pair meet.
struct Verdict {
  int first, last;
  bool is_aside;      // where they are now,
  bool goes_aside;    // and where they go
  bool is_elsewhere;  // they meet along another normal,
  double time;        // at this time,
  double normal[3];   // along this one,
  double closing;     // at this speed [m/s]
  Moving motion[2];
};

// What is known of a link.
struct LinkDoubts {
  double overlap;  // with others, the deepest [m]
  int first;       // verdict on what it meets first, or -1
  bool rests;      // of a root: something in its tree pushed in the step before
};

// Motion of a link that y' of degrees of freedom causes.
template <class S>
Motion<double> response_of(const Scene& scene, const Dof<S>* dofs, LaneOf<S> lane, int link, const double* y) {
  if (link < 0) return zero_motion<double>();
  const Link<double>& l = scene.tree.links[link];
  const Motion<double> parent = response_of(scene, dofs, lane, l.parent, y);
  Motion<double> m = parent;
  for (int k = l.v; k < l.v + l.nv; ++k) {
    const Dof<double> d = lane(dofs[k]);
    double x = y[k] * d.weight;
    if (l.parent >= 0) x -= dot(d.carry.lin, parent.lin) + dot(d.carry.ang, parent.ang);
    m.lin += d.axis.lin * x;
    m.ang += d.axis.ang * x;
  }
  return m;
}

// After a solve: what doubtful pairs that pushed did to their own links.
template <class S>
void note_pushes(const ConeRows<S>& rows, const double* impulse, const ContactList& contacts, LaneOf<S> lane,
                 StepWorkspace<S>& w, StepMemory& memory) {
  int& n = w.n_pushes[lane.lane] = 0;
  if (!w.doubts[lane.lane]) return;
  const Scene& scene = rows.scene();
  PairPush* pushes = nullptr;
  double* y = nullptr;
  carve_out(memory.pushes[lane.lane], [&](Arena& arena) FW_LAMBDA_INLINE {
    pushes = arena.take<PairPush>(contacts.count);
    y = arena.take<double>(scene.tree.nv);
  });
  const auto contact_of = [&](const Quartet& quartet) {  // or some number beyond
    const auto bytes = reinterpret_cast<std::uintptr_t>(rows.rows[quartet.first].kept) -
                       reinterpret_cast<std::uintptr_t>(contacts.data);
    return bytes / sizeof(Contact);
  };
  const double least = least_push(contacts);
  int q = 0;
  while (q < rows.n_quartets && contact_of(rows.quartets[q]) >= static_cast<std::size_t>(contacts.count)) ++q;
  for_pairs(contacts, [&](int first, int last) {
    while (q < rows.n_quartets && contact_of(rows.quartets[q]) < static_cast<std::size_t>(first)) ++q;
    bool pushed = false;
    for (int k = first; k < last; ++k) pushed |= contacts.data[k].impulse[2] > least;
    const Standing standing = contacts.data[first].standing;
    if (!pushed || (standing != Standing::doubtful && standing != Standing::struck)) return;
    const int links[2] = {scene.shapes[contacts.data[first].a].link, scene.shapes[contacts.data[first].b].link};
    for (int link : links)
      if (link >= 0) for_path(scene, link, scene.depth[scene.last_dof[link]] + 1, [&](int, int f) { y[f] = 0; });
    for (; q < rows.n_quartets && contact_of(rows.quartets[q]) < static_cast<std::size_t>(last); ++q) {
      const Quartet& quartet = rows.quartets[q];
      for (int e = 0; e < quartet.n_ends; ++e)
        for_path(scene, quartet.ends[e].link, quartet.ends[e].count, [&](int k, int f) {
          for (int r = 0; r < quartet.rows; ++r) y[f] += quartet.ends[e].y[k][r] * impulse[quartet.first + r];
        });
    }
    pushes[n++] = {
        first,
        {response_of(scene, rows.dofs(), lane, links[0], y), response_of(scene, rows.dofs(), lane, links[1], y)}};
  });
}

// Velocity of a link at the start of the step, about the root of its tree.
template <class S>
Motion<S> velocity_before(const Scene& scene, const StepWorkspace<S>& w, int link) {
  if (w.motion.before) return w.motion.before[link];
  const Link<double>& l = scene.tree.links[link];
  Motion<S> m = l.parent < 0 ? zero_motion<S>() : velocity_before(scene, w, l.parent);
  const Pose<S>& pose = w.motion.pose[link];
  const Vec3<S> r = pose.p - w.motion.pose[scene.root[link]].p;
  visit(l.kind, [&](auto joint) { m += joint_motion(joint, l, w.kept_v + l.v, pose, r, w.motion.dofs + l.v); });
  return m;
}

template <class S>
class Verifier {
 public:
  // response: of links to impulses; null at the first look, when there are none.
  Verifier(const RolloutJob& job, const StepWorkspace<S>& w, const Motion<S>* response, LaneOf<S> lane,
           std::size_t environment, StepMemory& memory)
      : job_(job),
        scene_(*job.scene),
        w_(w),
        response_(response),
        lane_(lane),
        environment_(environment),
        contacts_(job.contacts[environment]),
        memory_(memory) {}

  // False if nothing changes. is_last: nothing else is put aside.
  bool look(bool is_last) {
    survey_links();
    if (!response_)
      for_pairs(contacts_, [&](int first, int last) { judge_free(first, last); });
    else if (!is_last)
      for (int k = 0; k < w_.n_pushes[lane_.lane]; ++k) judge_push(pushes()[k]);
    if (response_) for_pairs(aside(), [&](int first, int last) { judge_aside(first, last); });
    if (!is_last) wait_for_the_first();
    if (!changes()) return false;
    carry_out();
    return true;
  }

 private:
  const RolloutJob& job_;
  const Scene& scene_;
  const StepWorkspace<S>& w_;
  const Motion<S>* response_;
  LaneOf<S> lane_;
  std::size_t environment_;
  ContactList& contacts_;
  StepMemory& memory_;
  int n_verdicts_ = 0;

  ContactList& aside() const { return memory_.aside[lane_.lane]; }
  const PairPush* pushes() const { return static_cast<const PairPush*>(memory_.pushes[lane_.lane].data); }
  Verdict* verdicts() const { return static_cast<Verdict*>(memory_.verdicts.data); }
  LinkDoubts* links() const { return static_cast<LinkDoubts*>(memory_.links.data); }
  int link_of(int shape) const { return scene_.shapes[shape].link; }
  // f(link) for those of a contact that move.
  template <class F>
  FW_INLINE void for_links(const Contact& c, const F& f) const {
    if (link_of(c.a) >= 0) f(link_of(c.a));
    if (link_of(c.b) >= 0) f(link_of(c.b));
  }

  void survey_links() {
    const int n = scene_.tree.n_links;
    reserve(memory_.links, sizeof(LinkDoubts) * n);
    for (int i = 0; i < n; ++i) links()[i] = {0, -1, false};
    for (int k = 0; k < contacts_.count; ++k) {
      const Contact& c = contacts_.data[k];
      if (c.standing == Standing::doubtful) continue;
      const bool is_rigid = scene_.materials[c.material].compliance == 0;
      for_links(c, [&](int link) {
        if (is_rigid && -c.gap > links()[link].overlap) links()[link].overlap = -c.gap;
        if (c.was_loaded) links()[scene_.root[link]].rests = true;
      });
    }
  }

  Motion<double> velocity(int link, const Motion<double>* own) const {
    if (!response_ && links()[scene_.root[link]].rests) return lane_(velocity_before(scene_, w_, link));
    Motion<double> v = lane_(w_.motion.velocity[link]);
    if (response_) v += lane_(response_[link]);
    if (own) v.lin = v.lin - own->lin, v.ang = v.ang - own->ang;
    return v;
  }
  // How a shape moves, without the impulses of its own pair if these are given.
  Moving moving(int k, const Motion<double>* own) const {
    const PlacedShape& shape = scene_.shapes[k];
    Moving m{&shape_of(scene_, environment_, k), placement(shape, w_.motion.pose, lane_), {}, {}, {}, {}};
    Vec3<double> center = vec3(m.start.p);
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) center[r] += m.start.R[3 * r + c] * m.shape->center[c];
      m.center[r] = center[r];
    }
    if (shape.link < 0) return m;
    const Motion<double> v = velocity(shape.link, own);
    const Link<double>& link = scene_.tree.links[shape.link];
    const Vec3<double> root = lane_(w_.motion.pose[scene_.root[shape.link]].p);
    Vec3<double> straight = zero3<double>(), turning = velocity_at(v, center - root);
    if (link.kind == JointKind::free && link.parent < 0) {
      const Pose<double> X = lane_(w_.motion.pose[shape.link]);
      straight = velocity_at(v, X.R * lane_(w_.centers[shape.link]) + X.p - root);
      turning = turning - straight;
    }
    for (int r = 0; r < 3; ++r) m.straight[r] = straight[r], m.turning[r] = turning[r], m.angular[r] = v.ang[r];
    return m;
  }

  // Points of a list, and how their shapes move.
  struct Case {
    const ContactList& list;
    int first, last;
    Moving a, b;
    const Contact& closest;
    Carried carried;
  };
  Case points(const ContactList& list, int first, int last, const Motion<double>* own) const {
    int closest = first;
    for (int k = first + 1; k < last; ++k)
      if (list.data[k].gap < list.data[closest].gap) closest = k;
    const Contact& c = list.data[closest];
    return {list, first, last, moving(c.a, own), moving(c.b, own ? own + 1 : nullptr), c, carried(c)};
  }
  Carried carried(const Contact& c) const { return c.is_beside ? carried_normals(contacts_, c) : Carried{}; }
  static Vec3<double> relative_velocity(const Case& of, const Contact& c) {
    Vec3<double> u, v;
    featherweight::velocity_at(of.a, c.position, &u[0]), featherweight::velocity_at(of.b, c.position, &v[0]);
    return u - v;
  }
  static Vec3<double> normal(const Contact& c) { return {c.frame[6], c.frame[7], c.frame[8]}; }
  // Whether any row would act.
  bool acts(const Case& of) const {
    for (int k = of.first; k < of.last; ++k) {
      const Contact& c = of.list.data[k];
      if (c.is_ahead ||
          (c.gap > 0 ? c.gap : 0) + job_.dt * dot(normal(c), relative_velocity(of, c)) < -VerifyTuning::flush)
        return true;
    }
    return false;
  }

  Depths depths(const Contact& c, double travel) const {
    double others = 0;
    for_links(c, [&](int link) { others = links()[link].overlap > others ? links()[link].overlap : others; });
    const auto smaller = [](double x, double y) { return x < y ? x : y; };
    const double thin =
        VerifyTuning::of_thickness * smaller(scene_.shapes[c.a].shape.thickness, scene_.shapes[c.b].shape.thickness);
    const double shallow = smaller(VerifyTuning::shallow * travel, thin);
    const double floor =
        VerifyTuning::flush + smaller(smaller(VerifyTuning::as_deep * others, VerifyTuning::deepest * travel), thin);
    return {VerifyTuning::flush, floor + 0.5 * shallow, floor + shallow};
  }
  Meeting meet(const Case& of, const Vec3<double>& u) const {
    const Contact& c = of.closest;
    return sweep(of.a, of.b, job_.dt, scene_.materials[c.material].margin, depths(c, job_.dt * square_root(dot(u, u))),
                 c.is_ahead ? nullptr : c.frame + 6, c.gap, of.carried);
  }
  // The verdict on those that stay or return if they meet.
  void judge(const Case& of, bool is_aside, double same_normal) {
    const Contact& c = of.closest;
    const Vec3<double> u = relative_velocity(of, c);
    const Meeting m = meet(of, u);
    const double cosine = dot(normal(c), vec3(m.normal));
    reserve(memory_.verdicts, sizeof(Verdict) * (n_verdicts_ + 1), sizeof(Verdict) * n_verdicts_);
    verdicts()[n_verdicts_++] = {of.first,
                                 of.last,
                                 is_aside,
                                 m.passage == Passage::misses,
                                 cosine < same_normal,
                                 m.time,
                                 {m.normal[0], m.normal[1], m.normal[2]},
                                 -dot(u, vec3(m.normal)),
                                 {of.a, of.b}};
  }

  // Before anything is solved: rows that would act.
  void judge_free(int first, int last) {
    if (contacts_.data[first].standing != Standing::doubtful) return;
    const Case of = points(contacts_, first, last, nullptr);
    if (!acts(of)) return;
    if (is_of_field(scene_, of.closest) && !of.closest.is_beside) {  // the rest is beside what it falls on
      Carried carried;
      carried.add(of.closest.frame + 6);
      const int middle = put_beside(carried, first, last, contacts_);
      if (middle < last) {
        judge_free(first, middle), judge_free(middle, last);
        return;
      }
    }
    judge(of, false, 1 - VerifyTuning::same_normal);
    for (int k = first; k < last; ++k) contacts_.data[k].standing = Standing::struck;
  }
  // Those that pushed, as if they had not.
  void judge_push(const PairPush& push) {
    int last = push.first;
    while (last < contacts_.count && !precedes(contacts_.data[push.first], contacts_.data[last])) ++last;
    judge(points(contacts_, push.first, last, push.own), false, VerifyTuning::other_normal);
    for (int k = push.first; k < last; ++k) contacts_.data[k].standing = Standing::verified;
  }
  // Those put aside, with all impulses.
  void judge_aside(int first, int last) {
    const Case of = points(aside(), first, last, nullptr);
    if (!acts(of)) return;
    judge(of, true, 1 - VerifyTuning::same_normal);
  }
  // Of several pairs that a link newly meets, those that it may not meet after the first wait for the next look.
  void wait_for_the_first() {
    const auto is_new = [&](const Verdict& v) { return !v.goes_aside && (!response_ || v.is_aside); };
    const auto pair = [&](const Verdict& v) -> const Contact& {
      return (v.is_aside ? aside() : contacts_).data[v.first];
    };
    for (int k = 0; k < n_verdicts_; ++k) {
      const Verdict& v = verdicts()[k];
      if (!is_new(v)) continue;
      for_links(pair(v), [&](int link) {
        int& first = links()[link].first;
        if (first < 0 || v.time < verdicts()[first].time) first = k;
      });
    }
    for (int k = 0; k < n_verdicts_; ++k) {
      Verdict& v = verdicts()[k];
      if (!is_new(v)) continue;
      const Contact& c = pair(v);
      Moving moved[2] = {v.motion[0], v.motion[1]};
      bool is_later = false;
      for (int side = 0; side < 2; ++side) {
        const int link = link_of(side == 0 ? c.a : c.b);
        if (link < 0) continue;
        const Verdict& first = verdicts()[links()[link].first];
        if (v.time <= first.time + VerifyTuning::at_once * job_.dt) continue;
        is_later = true;
        const double away = (link_of(pair(first).a) == link ? 1 : -1) * first.closing;
        for (int r = 0; r < 3; ++r) moved[side].straight[r] += away * first.normal[r];
      }
      if (!is_later) continue;
      const Case of{v.is_aside ? aside() : contacts_, v.first, v.last, moved[0], moved[1], c, carried(c)};
      const Meeting m = meet(of, relative_velocity(of, c));
      v.goes_aside = m.passage != Passage::hits || dot(vec3(m.normal), vec3(v.normal)) < VerifyTuning::other_normal;
    }
  }
  bool changes() const {
    for (int k = 0; k < n_verdicts_; ++k) {
      const Verdict& v = verdicts()[k];
      if (v.goes_aside != v.is_aside || (v.is_elsewhere && !v.goes_aside)) return true;
    }
    return false;
  }

  // Both lists anew, in the order of pairs.
  void carry_out() {
    ContactList &kept = memory_.next, &left = memory_.spare;
    kept.count = left.count = 0;
    const ContactList* const from[2] = {&contacts_, &aside()};
    int at[2] = {0, 0}, next[2] = {0, 0};
    const auto verdict_of = [&](int side) -> const Verdict* {
      int& k = next[side];
      while (k < n_verdicts_ && (verdicts()[k].is_aside != (side == 1) || verdicts()[k].first < at[side])) ++k;
      return k < n_verdicts_ && verdicts()[k].first == at[side] ? verdicts() + k : nullptr;
    };
    while (at[0] < from[0]->count || at[1] < from[1]->count) {
      const bool is_aside =
          at[0] == from[0]->count || (at[1] < from[1]->count && precedes(from[1]->data[at[1]], from[0]->data[at[0]]));
      int& k = at[is_aside];
      const ContactList& list = *from[is_aside];
      if (const Verdict* const verdict = verdict_of(is_aside)) {
        carry_out(*verdict, list, kept, left);
        k = verdict->last;
      } else {
        append(list.data[k++], is_aside ? left : kept);
      }
    }
    swap(contacts_, kept);
    swap(aside(), left);
  }
  void carry_out(const Verdict& verdict, const ContactList& list, ContactList& kept, ContactList& left) {
    const Contact& c = list.data[verdict.first];
    const int start = kept.count;
    if (verdict.goes_aside || !verdict.is_elsewhere) {
      for (int k = verdict.first; k < verdict.last; ++k) append(list.data[k], verdict.goes_aside ? left : kept);
      for (int k = left.count - (verdict.last - verdict.first); verdict.goes_aside && k < left.count; ++k)
        for (double& impulse : left.data[k].impulse) impulse = 0;
    } else {
      const double margin = scene_.materials[c.material].margin + look_ahead;
      find_contacts_ahead(scene_, environment_, c.a, c.b, c.material, verdict.motion[0], verdict.motion[1],
                          verdict.time, job_.dt, margin, kept);
      if (c.is_beside) leave_beside(carried(c), start, kept);
    }
    for (int k = start; k < kept.count; ++k) kept.data[k].standing = response_ ? Standing::verified : Standing::struck;
  }
  // Of contacts found ahead, those that are not carried already.
  static void leave_beside(const Carried& carried, int start, ContactList& kept) {
    const int middle = put_beside(carried, start, kept.count, kept);
    for (int k = middle; k < kept.count; ++k) kept.data[k + start - middle] = kept.data[k];
    kept.count += start - middle;
  }
};

}  // namespace featherweight::FW_ISA
