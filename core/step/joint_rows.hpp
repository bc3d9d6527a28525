// step/joint_rows.hpp -- rows of joints: limits, dry friction, servos of limited effort; limits and dry friction of
// tendons over several of them, and of struts.
//
//   limit       0 <= lambda  _|_  sigma + max(gap, 0) / dt >= 0,   or where it strikes sigma + e sigma_before >= 0
//   friction and servos of limited effort: interval_row.hpp, what of them is not in the prediction
// No drive takes its joint beyond its velocity limit V. Those that are forces and would at sigma = V still push on have
//   drive       sigma <= V, and takes back what is needed of the force f at V:  -dt f <= lambda <= 0
#pragma once
#include "step/along_row.hpp"
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

template <class S>
class JointRows {
 public:
  JointRows(double dt, ConeRows<S>& rows)
      : rows_(rows),
        scene_(rows.scene()),
        motion_(rows.motion()),
        lane_(rows.lane()),
        dt_(dt),
        kick_(rows.scene().kick),
        per_dt_(rows.per_dt()) {}

  // Those of the joint rows that are near; the others have no impulse.
  void add(const int* near, int n_near, double* impulses) {
    int next = 0;
    for (int k = 0; k < n_near; ++k) {
      while (next < near[k]) impulses[next++] = 0;
      add(scene_.joint_rows[next], impulses + next);
      ++next;
    }
    while (next < scene_.n_joint_rows) impulses[next++] = 0;
    end_chain();
  }

 private:
  ConeRows<S>& rows_;
  const Scene& scene_;
  const FreeMotion<S>& motion_;
  LaneOf<S> lane_;
  double dt_, kick_, per_dt_;
  int n_chain_ = 0, chain_tip_ = 0, chain_first_ = 0, chain_dof_[4];
  double chain_along_[4];

  // The forces of a chain of joint rows along their own degrees of freedom.
  struct Chain {
    const JointRows& rows;
    FW_INLINE void add(int f, Rows& t) const {
      for (int r = 0; r < rows.n_chain_; ++r)
        if (rows.chain_dof_[r] == f) t[r] += rows.chain_along_[r];
    }
  };

  // Rows of joints that are inboard of each other walk together, up to four; they come from the tips inward.
  FW_INLINE void join_chain(const JointRow& row, double along) {
    const int link = row.term.link;
    const Link<double>& l = scene_.tree.links[link];
    if (n_chain_ == 4 || (n_chain_ > 0 && !(link <= chain_tip_ && chain_tip_ < l.subtree_end))) end_chain();
    if (n_chain_ == 0) chain_tip_ = link, chain_first_ = rows_.m;
    if (rows_.pushes) rows_.pushes[rows_.n_pushes++] = {rows_.m, row.term.dof, along};
    chain_dof_[n_chain_] = row.term.dof;
    chain_along_[n_chain_++] = along;
  }
  void end_chain() {
    if (n_chain_ == 0) return;
    Quartet& quartet = rows_.add_quartet(n_chain_);
    quartet.first = chain_first_;
    rows_.add_end(quartet, chain_tip_, no_forces(), Chain{*this});
    n_chain_ = 0;
  }

  // The force of a tendon along the joints of one of its branches.
  struct Branch {
    const Link<double>* links;
    const JointTerm<double>* first;  // the outermost, which may be apart from the others
    const JointTerm<double>* more;
    int n_more;
    FW_INLINE void add_term(const JointTerm<double>& term, int f, Rows& t) const {
      if (term.dof == f) t[0] += term.coefficient * links[term.link].sign;
    }
    FW_INLINE void add(int f, Rows& t) const {
      add_term(*first, f, t);
      for (int k = 0; k < n_more; ++k) add_term(more[k], f, t);
    }
  };
  void add_tendon(const JointRow& row) {
    end_chain();
    const Link<double>* const links = scene_.tree.links;
    const JointTerm<double>* const more = scene_.tendon_terms + row.first_more;
    Quartet& quartet = rows_.add_quartet(1);
    rows_.add_end(quartet, row.term.link, no_forces(), Branch{links, &row.term, more, row.n_beside});
    if (row.n_beside == row.n_more) return;
    const JointTerm<double>* const beside = more + row.n_beside;
    rows_.add_end(quartet, beside->link, no_forces(), Branch{links, beside, beside + 1, row.n_more - row.n_beside - 1});
  }

  // The force of a strut on the links of one of its branches.
  struct StrutBranch {
    const JointRows& rows;
    const JointRow& row;
    int end;
    FW_INLINE void add(int, Rows&) const {}
    FW_INLINE void act(int link, RowForces<Rows>& force) const {
      const Scene& scene = rows.scene_;
      const Strut& strut = scene.struts[row.strut];
      for (int j = strut.first_link; j < strut.first_link + strut.n_links; ++j) {
        if (scene.strut_links[j].link != link || scene.strut_links[j].end != end) continue;
        const Force<double> own = rows.lane_(rows.motion_.struts.wrenches[j]);
        for (int k = 0; k < 3; ++k) {
          force.e[k][0] += own.lin[k] * row.term.coefficient;
          force.e[3 + k][0] += own.ang[k] * row.term.coefficient;
        }
      }
    }
  };
  void add_strut(const JointRow& row) {
    end_chain();
    const Strut& strut = scene_.struts[row.strut];
    Quartet& quartet = rows_.add_quartet(1);
    for (int end = 0; end < strut.n_tips; ++end)
      rows_.add_end(quartet, strut.tips[end], no_forces(), StrutBranch{*this, row, end});
  }

  // What of it is in the prediction moves already; the row is the rest.
  void add_interval(const IntervalRow<S>& own, double velocity, Block& block, double* impulse) {
    const double known = lane_(own.impulse), softness = lane_(own.softness);
    block.lower = lane_(own.lower) - known, block.upper = lane_(own.upper) - known;
    rows_.add_row(velocity, lane_(own.shift) + softness * known, softness, impulse);
    rows_.rows[rows_.m - 1].known = known;
  }

  void add(const JointRow& row, double* impulse) {
    const int f = row.term.dof;
    if (row.kind == JointRow::servo && lane_(motion_.gain_scale[row.actuator]) == 0) {  // it has no force
      *impulse = 0;
      return;
    }
    const bool is_limit = row.is_limit();
    if (is_limit && motion_.holds && !(*impulse > 0)) {  // what did not push does not
      *impulse = 0;
      return;
    }
    const double direction = row.term.coefficient;
    const double velocity = along_row(scene_, motion_.struts, row, motion_.v_free, lane_);
    double gap = 0, shift = 0;
    if (is_limit) {
      gap = gap_of_row(scene_, motion_.struts, row, motion_.q, lane_);
      shift = gap > 0 && !motion_.holds ? gap * per_dt_ : 0;
    }
    if (row.strut >= 0)
      add_strut(row);
    else if (row.is_tendon())
      add_tendon(row);
    else
      join_chain(row, direction * scene_.tree.links[row.term.link].sign);
    if (!is_limit) {
      Block& block = rows_.add_block(Law::interval, 1);
      if (row.is_tendon()) {
        block.lower = -row.bound * kick_, block.upper = row.bound * kick_;
        rows_.add_row(velocity, 0, 0, impulse);
      } else if (scene_.is_interval(row)) {
        add_interval(motion_.intervals[&row - scene_.joint_rows], velocity, block, impulse);
      } else {
        const double drive = lane_(motion_.drive[row.actuator]), limit = scene_.actuators[row.actuator].velocity;
        (drive > 0 ? block.lower : block.upper) = -drive * kick_;
        rows_.add_row(velocity, drive > 0 ? -limit : limit, 0, impulse);
      }
    } else {
      rows_.add_block(Law::unilateral, 1);
      const bool was_loaded = *impulse > 0;
      const double before = along_row(scene_, motion_.struts, row, motion_.v_before, lane_);
      const int account = row.strut >= 0 ? -1 - row.strut : row.is_tendon() ? scene_.tree.nv + row.first_more : f;
      const bool strikes = row.restitution > 0 && before < 0 && gap + dt_ * velocity <= 0 && !motion_.holds;
      rows_.add_row(velocity, strikes ? row.restitution * before : shift, 0, impulse);
      if (scene_.has_restitution && !motion_.holds)
        rows_.add_strike({strikes ? Strike::strikes : Strike::rests, rows_.m - 1, rows_.m - 1, rows_.m, account, -2,
                          scene_.held.cluster[row.term.link], gap, shift, row.restitution, 0,
                          gap > ImpactTuning::touching && !was_loaded});
      rows_.ask_position(rows_.wanted(gap));
      rows_.see_limit(gap);
    }
  }
};

}  // namespace featherweight::FW_ISA
