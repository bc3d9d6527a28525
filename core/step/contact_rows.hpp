// step/contact_rows.hpp -- rows of contacts.
//
// A normal row with gap d obeys
//   apart, d > d0     0 <= lambda  _|_  sigma + d / dt >= 0        it touches at the end of the step at the earliest
//   touching, d <= d0  0 <= lambda  _|_  sigma >= 0                the overlap is left to separate.hpp
//   impact with e     0 <= lambda  _|_  sigma + e sigma_before >= 0,    tangents: Coulomb's law for sigma + e_t
//   sigma_before compliant, d <= 0  0 <= lambda  _|_  sigma + k d / (k dt + c) + lambda / (dt (k dt + c)) >= 0
//   (implicit spring)
// where d0 = 0, but 0.01 g dt^2 (0.4 um in 2 ms) for loaded contacts of single bodies: gaps that open as they roll on
// each other stay open, since closing them contradicts sticking (docs/adr/0017).
#pragma once
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

// How the two sides of a contact move without impulses.
struct Approach {
  Place places[2];
  Vec3<double> u, w;  // velocity of a as seen from b, linear and angular
  double u_n;         // along the normal
  double before;      // the same at the start of the step
  Vec3<double> u_before;
};

template <class S>
class ContactRows {
 public:
  // friction: factor on all coefficients; reach: contacts whose gap opens faster are left out [m/s].
  // carried: one per contact, or null.
  ContactRows(double dt, double friction, double reach, const CarriedContact* carried, ConeRows<S>& rows)
      : rows_(rows),
        scene_(rows.scene()),
        motion_(rows.motion()),
        balls_(rows.balls()),
        lane_(rows.lane()),
        dt_(dt),
        per_dt_(rows.per_dt()),
        friction_(friction),
        closed_(LawTuning::closed_share * lane_(motion_.fall) * dt),
        reach_(reach),
        carried_(carried) {}

  void add(ContactList& contacts, Approach* approaches) {
    rows_.contacts = contacts.data;
    for (int k = 0; k < contacts.count; ++k) approach(contacts.data[k], approaches[k]);
    for (int k = 0; k < contacts.count; ++k) add(contacts.data[k], approaches[k]);
  }

 private:
  ConeRows<S>& rows_;
  const Scene& scene_;
  const FreeMotion<S>& motion_;
  BallPoints<S>& balls_;
  LaneOf<S> lane_;
  double dt_, per_dt_, friction_;
  double closed_;  // gaps of loaded contacts up to this count as closed [m]
  double reach_;
  const CarriedContact* carried_;

  FW_INLINE void approach(const Contact& c, Approach& approach) {
    if (c.ball >= 0) {
      approach.u_n = lane_(balls_[c.ball].velocity[2]);
      approach.before = lane_(balls_[c.ball].before);
    } else {
      approach_along(c, approach);
    }
    rows_.see_overlap(c.gap);
    // what is struck moves away at up to twice the speed it is struck with
    const double reach = DetectTuning::resting_reach - 2 * approach.u_n;
    reach_ = reach > reach_ ? reach : reach_;
  }
  FW_INLINE void approach_along(const Contact& c, Approach& approach) {
    const Vec3<double> point{c.position[0], c.position[1], c.position[2]}, n{c.frame[6], c.frame[7], c.frame[8]};
    const int links[2] = {scene_.shapes[c.a].link, scene_.shapes[c.b].link};
    approach.u = approach.w = approach.u_before = zero3<double>();
    for (int side = 0; side < 2; ++side) {
      if (links[side] < 0) continue;
      const Place& p = approach.places[side] = rows_.place(links[side], point, motion_.velocity);
      approach.u += p.moves() * sign(side);
      approach.w += p.velocity.ang * sign(side);
      if (motion_.before) approach.u_before += rows_.place(links[side], point, motion_.before).moves() * sign(side);
    }
    approach.before = dot(n, approach.u_before);
    approach.u_n = dot(n, approach.u);
  }

  // What a normal row obeys.
  struct Normal {
    double shift, softness;
    double open_shift;  // where it does not strike
    bool strikes;
  };

  FW_INLINE Normal law(const Contact& c, const PairMaterial& material, const Approach& approach) const {
    if (material.compliance > 0) return soft_law(c, material, approach);
    const double open_shift = c.gap > 0 && !stays(c, material) ? c.gap * per_dt_ : 0;
    if (material.is_elastic() && hits(approach) && c.gap + dt_ * approach.u_n <= 0 && !motion_.holds)
      return {material.restitution * approach.before, 0, open_shift, true};
    return {open_shift, 0, open_shift, false};
  }
  // Whether what comes nearer does so by more than rounding: steps in halves leave what lies with no velocity.
  FW_INLINE bool hits(const Approach& approach) const {
    if (!scene_.is_verlet()) return approach.before < 0;
    const double pushed = approach.before - approach.u_n;
    return approach.before < -ImpactTuning::at_rest * (lane_(motion_.fall) + (pushed < 0 ? -pushed : pushed));
  }
  // The spring begins where the gap closes. In a step in halves it acts at their ends, and by Newmark's rule.
  [[gnu::noinline]] Normal soft_law(const Contact& c, const PairMaterial& material, const Approach& approach) const {
    const double stiffness = 1 / material.compliance, kick = scene_.kick;
    double rate = stiffness * kick + material.damping, past = 0;
    if (scene_.is_verlet()) {
      rate = stiffness * kick + damped_share(kick * material.damping * mobility(c)) * material.damping;
      past = (rate - material.damping) * 0.5 * (approach.before + approach.u_n);
    }
    const double shift = c.gap > 0 ? per_dt_ * c.gap : (stiffness * c.gap - past) / rate;
    return {shift, 1 / (kick * rate), shift, false};
  }
  // Of the two sides by themselves, without the joints that hold them [1/kg].
  double mobility(const Contact& c) const {
    double sum = 0;
    for (int side = 0; side < 2; ++side) {
      const int link = scene_.shapes[side == 0 ? c.a : c.b].link;
      const double mass = link < 0 ? 0 : scene_.tree.links[link].mass;
      if (mass > 0) sum += 1 / mass;
    }
    return sum;
  }
  // Whether an open gap may be left as it is.
  FW_INLINE bool stays(const Contact& c, const PairMaterial& material) const {
    if (motion_.holds) return c.was_loaded;
    const auto is_alone = [&](int shape) {
      const int link = scene_.shapes[shape].link;
      return link < 0 || scene_.tree.links[link].subtree_end - scene_.root[link] == 1;
    };
    return c.gap <= closed_ && c.was_loaded && !material.is_elastic() && is_alone(c.a) && is_alone(c.b);
  }

  FW_INLINE const CarriedContact& carried_of(const Contact& c) const { return carried_[&c - rows_.contacts]; }
  FW_INLINE double carried(const Contact& c, int tangent) const {
    return carried_ ? carried_of(c).opening[tangent] + carried_of(c).slip[tangent] : 0;
  }
  FW_INLINE void add(Contact& c, const Approach& approach) {
    const PairMaterial& material = scene_.materials[c.material];
    Normal normal = law(c, material, approach);
    if (carried_ && !normal.strikes && normal.softness == 0) normal.shift += carried_of(c).opening[2];
    const bool is_held = !motion_.holds || c.was_loaded || material.compliance > 0;  // what did not push does not
    if (!is_held || approach.u_n + normal.shift > reach_) {
      for (double& impulse : c.impulse) impulse = 0;
      rows_.left_out = true;
    } else if (c.ball >= 0) {
      add_ball(c, material, approach.before, normal);
    } else {
      add_point(c, material, approach, normal);
    }
  }
  // Its rows and velocities are known.
  FW_INLINE void add_ball(Contact& c, const PairMaterial& material, double before, const Normal& normal) {
    const BallPoint<S>& point = balls_.walked(c.ball);
    Quartet& quartet = rows_.add_quartet(3);
    quartet.ball = c.ball;
    rows_.place_end(quartet, point.link, point.count);
    rows_.add_block(Law::point, 3).mu = material.friction * friction_;
    add_tangents(lane_(point.velocity[0]), lane_(point.velocity[1]), carried(c, 0), carried(c, 1), c.impulse);
    add_normal(lane_(point.velocity[2]), normal, c);
    note_strike(c, material, normal, before, rows_.m - 3, rows_.m - 1);
  }
  [[gnu::noinline]] void add_point(Contact& c, const PairMaterial& material, const Approach& approach,
                                   const Normal& normal) {
    const Vec3<double> t1{c.frame[0], c.frame[1], c.frame[2]}, t2{c.frame[3], c.frame[4], c.frame[5]},
        n{c.frame[6], c.frame[7], c.frame[8]};
    const int links[2] = {scene_.shapes[c.a].link, scene_.shapes[c.b].link};
    const Place* const places = approach.places;
    const Vec3<double>&u = approach.u, &w = approach.w;
    const bool slides = material.dim >= 3 && material.friction > 0;
    const bool spins = material.dim >= 4 && material.torsional > 0, rolls = material.dim == 6 && material.rolling > 0;
    const int n_rows = slides ? 3 : 1;
    if (!slides) c.impulse[0] = c.impulse[1] = 0;
    if (!rolls) c.impulse[3] = c.impulse[4] = 0;
    if (!spins) c.impulse[5] = 0;
    Quartet& quartet = rows_.add_quartet(n_rows + (spins ? 1 : 0));
    for (int side = 0; side < 2; ++side) {
      if (links[side] < 0) continue;
      const Vec3<double> x = t1 * sign(side), y = t2 * sign(side), z = n * sign(side), none = zero3<double>();
      RowForces<Rows> force = forces_at(slides ? row_axes(x, y, z) : row_axes(z, none, none), places[side].r);
      if (spins)
        for (int k = 0; k < 3; ++k) force.e[3 + k][n_rows] = z[k];
      rows_.add_end(quartet, links[side], force);
    }
    Block& block = rows_.add_block(slides ? Law::point : Law::unilateral, n_rows);
    block.mu = material.friction * friction_;
    // slower than gravity makes it in a step it does not strike, it lies
    const double turns = normal.strikes && -approach.before > lane_(motion_.fall) ? material.tangential_restitution : 0;
    const int first = rows_.m;
    const Vec3<double>& u_before = approach.u_before;
    if (slides)
      add_tangents(dot(t1, u), dot(t2, u), turns * dot(t1, u_before) + carried(c, 0),
                   turns * dot(t2, u_before) + carried(c, 1), c.impulse);
    add_normal(approach.u_n, normal, c);
    const int bound = rows_.m - 1;
    if (spins) add_disc(1, bound, material.torsional), rows_.add_row(dot(n, w), 0, 0, c.impulse + 5);
    if (rolls) {
      Quartet& moments = rows_.add_quartet(2);
      for (int side = 0; side < 2; ++side) {
        if (links[side] < 0) continue;
        rows_.add_end(moments, links[side], moments_about(row_axes(t1 * sign(side), t2 * sign(side), zero3<double>())));
      }
      add_disc(2, bound, material.rolling);
      rows_.add_row(dot(t1, w), 0, 0, c.impulse + 3);
      rows_.add_row(dot(t2, w), 0, 0, c.impulse + 4);
    }
    note_strike(c, material, normal, approach.before, first, bound);
    if (slides && may_be_idle(links[0], links[1])) rows_.leave_out_if_idle(quartet, n_rows - 1);
  }
  // Whether hinges alone may be what resists: within a tree, or of one that is bolted down.
  FW_INLINE bool may_be_idle(int a, int b) const {
    if (a >= 0 && b >= 0) return scene_.root[a] == scene_.root[b];
    return scene_.tree.links[scene_.root[a < 0 ? b : a]].kind != JointKind::free;
  }
  FW_INLINE void note_strike(const Contact& c, const PairMaterial& material, const Normal& normal, double before,
                             int first, int row) {
    if (!scene_.has_restitution || motion_.holds || normal.softness != 0) return;
    const int a = scene_.shapes[c.a].link, b = scene_.shapes[c.b].link;
    const bool parts = before > ImpactTuning::slow * lane_(motion_.fall) && dt_ * before > ImpactTuning::touching;
    const bool was_apart = c.gap > ImpactTuning::touching && (parts || !c.was_loaded);
    rows_.add_strike({normal.strikes ? Strike::strikes : Strike::rests, row, first, rows_.m, a, b,
                      scene_.held.cluster[a < 0 ? b : a], c.gap, normal.open_shift, material.restitution,
                      material.tangential_restitution, was_apart});
  }
  FW_INLINE void add_tangents(double velocity_1, double velocity_2, double shift_1, double shift_2, double* impulse) {
    rows_.add_row(velocity_1, shift_1, 0, impulse);
    rows_.add_row(velocity_2, shift_2, 0, impulse + 1);
    rows_.see(velocity_1), rows_.see(velocity_2);
  }
  FW_INLINE void add_normal(double velocity, const Normal& normal, Contact& c) {
    rows_.add_row(velocity, normal.shift, normal.softness, c.impulse + 2);
    rows_.see(velocity);
    if (normal.softness != 0) return;
    rows_.ask_position(rows_.wanted(c.gap));
    rows_.rows[rows_.m - 1].contact = static_cast<int>(&c - rows_.contacts);
  }
  FW_INLINE void add_disc(int rows, int normal, double mu) {
    Block& disc = rows_.add_block(Law::disc, rows);
    disc.normal = normal;
    disc.mu = mu * friction_;
  }
};

}  // namespace featherweight::FW_ISA
