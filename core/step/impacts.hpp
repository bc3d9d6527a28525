// step/impacts.hpp -- impacts of one step: in rounds, and none brings energy.
//
// Contacts and limits that strike leave by restitution, all at once (contact_rows.hpp). Two things are left to do.
//
// Rounds. What is struck may reach something else within the step: a contact that was apart and that only impulses
// close. It waits. The impulses of the round are then part of the motion, and in the next round those that wait and are
// closing strike with the velocities of after the round before; those that were struck may be struck again. Contacts
// that touch, or carried load, take part in the first round at once. Rows without restitution see the whole step in
// every round. After the last round nothing bounces any more.
//
// Energy. Newton's restitution asks for a velocity, whatever that takes. Where friction or another contact deflects
// part of the incoming motion, that can take more energy than there was: a spinning ball leaves faster than it came. An
// impact is all that strikes between two links, or a limit; it does the work of its impulses with the mean of the
// velocities before and after. Where that is positive, the restitution of this impact alone is lowered to the largest
// share at which it is not. There is one, since without restitution impulses dissipate. Servos, springs and dry
// friction are on no account, and nobody else's losses pay.
//
// Cost: nothing where nothing strikes; a solve for each round, and some ten where a bounce would bring energy. Bounded:
// where operations run out, what is left is inelastic.
// Oracle: the twin; kinetic energies before and after.
#pragma once
#include "step/cone_matrix.hpp"

namespace featherweight::FW_ISA {

// solve(): the problem as it stands, into matrix.lambda; the operations it took.
template <class S, class Solve>
class Impacts {
 public:
  Impacts(const Scene& scene, ConeRows<S>& rows, const ConeMatrix<S>& matrix, double dt, double tolerance,
          double first_effort, Memory& memory, const Solve& solve)
      : rows_(rows),
        lambda_(matrix.lambda),
        problem_(matrix.problem()),
        dt_(dt),
        left_(max_of(ImpactTuning::small_effort, ImpactTuning::most_effort * first_effort)),
        few_left_(left_ - ImpactTuning::quick_effort),
        solve_(solve) {
    const std::size_t m = padded(rows.m), n = rows.n_strikes;
    carve_out(memory, [&](Arena& arena) {
      base_ = arena.take<double>(m);
      shift_ = arena.take<double>(m);
      frozen_ = arena.take<double>(m);
      before_ = arena.take<double>(m);
      sigma_ = arena.take<double>(m);
      shares_ = arena.take<Share>(n);
      goes_on_ = arena.take<bool>(scene.tree.n_links);
      tree_ = arena.take<int>(scene.tree.n_links);
    });
    for (int i = 0; i < rows.m; ++i) {
      base_[i] = before_[i] = rows.rows[i].velocity;
      shift_[i] = rows.g[i] - base_[i];
    }
    for (std::size_t i = 0; i < m; ++i) frozen_[i] = 0;
    tolerance_ = ImpactTuning::loosely * tolerance * rows.scale;
    slow_ = max_of(ImpactTuning::slow * rows.lane()(rows.motion().fall), tolerance_);
    find_islands(scene.tree.n_links);
  }

  void run() {
    for (int k = 0; k < rows_.n_strikes; ++k)
      if (strikes()[k].state == Strike::strikes) goes_on_[island(strikes()[k])] = true;
    for (int round = 1;; ++round) {
      make_wait();
      weaken();
      find_velocities();
      if (!find_closing()) break;
      const bool is_last = is_spent() || (round >= ImpactTuning::most_rounds && !is_quick());
      freeze();
      set_laws(is_last);
      solve();
      if (is_last) break;
    }
    put_together();
  }

 private:
  // How much of its restitution an impact keeps, and its account [J].
  struct Share {
    int a, b, island;
    double value, low, high;   // what it is, and between which numbers it is sought
    double at_low, at_high;    // accounts there
    double work, size, slack;  // of its impulses, the sum of the sizes of its parts, and what the solver leaves open
    bool sought;
    FW_INLINE bool brings_energy() const { return work > ImpactTuning::negligible_gain * size + slack; }
  };
  static constexpr double unknown = 1;  // an account at the lower end that was not looked at

  ConeRows<S>& rows_;
  double* lambda_;
  const ConeProblem problem_;
  double dt_, tolerance_, slow_;
  double left_;      // operations
  double few_left_;  // of them, where rounds are no longer quick
  const Solve& solve_;
  double* base_;    // velocities of rows without impulses but for those of rounds before
  double* shift_;   // of their laws
  double* frozen_;  // impulses of rounds before
  double* before_;  // velocities at the end of the round before
  double* sigma_;   // and of this one
  Share* shares_;
  int n_shares_ = 0;
  int* tree_;      // of links that are roots: another one of their island, or itself
  bool* goes_on_;  // of islands: something strikes in this round

  void solve() { left_ -= solve_(); }
  bool is_spent() const { return !(left_ > 0); }
  bool is_quick() const { return left_ > few_left_; }
  Strike* strikes() { return rows_.strikes; }
  int island(const Strike& strike) const { return tree_[strike.root]; }

  // Trees that rows couple are one island, named by one of them.
  void find_islands(int n_links) {
    for (int i = 0; i < n_links; ++i) tree_[i] = i, goes_on_[i] = false;
    const auto first = [&](int i) {
      while (tree_[i] != i) i = tree_[i] = tree_[tree_[i]];
      return i;
    };
    for (int k = 0; k < rows_.n_quartets; ++k) {
      const Quartet& quartet = rows_.quartets[k];
      if (quartet.n_ends == 2) tree_[first(quartet.ends[0].cluster)] = first(quartet.ends[1].cluster);
    }
    for (int i = 0; i < n_links; ++i) tree_[i] = first(i);
  }

  void find_velocities() {
    multiply(problem_, lambda_, sigma_);
    for (int i = 0; i < rows_.m; ++i) sigma_[i] += base_[i] - rows_.rows[i].compliance * lambda_[i];
  }
  void set_law(int row, double shift) {
    shift_[row] = shift;
    rows_.g[row] = base_[row] + shift;
  }

  // -- rounds

  double gap(const Strike& strike) const { return strike.struck || strike.gap < 0 ? 0 : strike.gap; }
  bool closes(const Strike& strike, const double* velocity) const {
    return gap(strike) + dt_ * velocity[strike.row] < 0;
  }
  // Those that only impulses close, in islands where something strikes, are left open; solves again.
  void make_wait() {
    for (int pass = 0; pass < ImpactTuning::most_passes; ++pass) {
      bool some = false;
      for (int k = 0; k < rows_.n_strikes; ++k) {
        Strike& strike = strikes()[k];
        if (strike.state != Strike::rests || !(lambda_[strike.row] > 0) || !goes_on_[island(strike)]) continue;
        if (!(strike.was_apart || strike.struck) || closes(strike, before_)) continue;
        strike.state = Strike::waits;
        set_law(strike.row, ImpactTuning::open * rows_.scale);
        for (int i = strike.first; i < strike.last; ++i) lambda_[i] = 0;
        some = true;
      }
      if (!some) return;
      solve();
    }
  }
  // Islands in which something that waits is reached. False if there are none.
  bool find_closing() {
    bool some = false;
    for (int k = 0; k < rows_.n_strikes; ++k) goes_on_[island(strikes()[k])] = false;
    for (int k = 0; k < rows_.n_strikes; ++k) {
      const Strike& strike = strikes()[k];
      if (strike.state == Strike::waits && closes(strike, sigma_)) some = goes_on_[island(strike)] = true;
    }
    return some;
  }
  // What struck is over: its impulses join the motion.
  void freeze() {
    for (int k = 0; k < rows_.n_strikes; ++k) {
      Strike& strike = strikes()[k];
      if (strike.state != Strike::strikes || !goes_on_[island(strike)]) continue;
      for (int i = strike.first; i < strike.last; ++i) {
        frozen_[i] += lambda_[i];
        lambda_[i] = 0;
        if (i != strike.row) shift_[i] = 0;
      }
      shift_[strike.row] = 0;
      strike.state = Strike::rests;
      strike.struck = true;
    }
    multiply(problem_, frozen_, base_);
    for (int i = 0; i < rows_.m; ++i) {
      base_[i] += rows_.rows[i].velocity;
      before_[i] = sigma_[i];
    }
  }
  void set_laws(bool is_last) {
    for (int k = 0; k < rows_.n_strikes; ++k) {
      Strike& strike = strikes()[k];
      if (strike.state != Strike::waits) continue;
      strike.state = Strike::rests;
      shift_[strike.row] = strike.struck ? 0 : strike.open_shift;
      const double speed = -before_[strike.row];
      if (is_last || !goes_on_[island(strike)] || !closes(strike, before_) || !(speed > slow_)) continue;
      if (!strike.is_elastic()) continue;
      strike.state = Strike::strikes;
      strike.asks(before_, strike.tangential > 0, shift_);
    }
    for (int i = 0; i < rows_.m; ++i) rows_.g[i] = base_[i] + shift_[i];
  }
  // Impulses of all rounds, and laws as they were met.
  void put_together() {
    find_velocities();
    for (int k = 0; k < rows_.n_strikes; ++k) {
      const Strike& strike = strikes()[k];
      if (strike.state == Strike::waits) shift_[strike.row] = strike.open_shift;
      if (strike.struck) shift_[strike.row] = -sigma_[strike.row];
    }
    for (int i = 0; i < rows_.m; ++i) {
      lambda_[i] += frozen_[i];
      rows_.g[i] = rows_.rows[i].velocity + shift_[i];
    }
  }

  // -- energy

  // What strikes between the same two links is one impact.
  void find_impacts() {
    n_shares_ = 0;
    for (int k = 0; k < rows_.n_strikes; ++k) {
      Strike& strike = strikes()[k];
      if (strike.state != Strike::strikes || !goes_on_[island(strike)]) continue;
      strike.impact = 0;
      while (strike.impact < n_shares_ &&
             !(shares_[strike.impact].a == strike.a && shares_[strike.impact].b == strike.b))
        ++strike.impact;
      if (strike.impact == n_shares_)
        shares_[n_shares_++] = {strike.a, strike.b, island(strike), 1, 0, 1, unknown, 0, 0, 0, 0, false};
    }
  }
  double work(int row) const { return 0.5 * lambda_[row] * (before_[row] + sigma_[row]); }

  // Accounts of all impacts. False if none brings energy.
  bool take_accounts() {
    find_velocities();
    for (int s = 0; s < n_shares_; ++s) shares_[s].work = shares_[s].size = shares_[s].slack = 0;
    for (int k = 0; k < rows_.n_strikes; ++k) {
      const Strike& strike = strikes()[k];
      if (strike.state != Strike::strikes || !goes_on_[island(strike)]) continue;
      Share& share = shares_[strike.impact];
      for (int i = strike.first; i < strike.last; ++i) {
        share.work += work(i);
        share.size += magnitude(work(i));
        share.slack += tolerance_ * magnitude(lambda_[i]);
      }
    }
    bool some = false;
    for (int s = 0; s < n_shares_; ++s) {
      shares_[s].work += unpaid(shares_[s].island);
      some |= shares_[s].brings_energy();
    }
    return some;
  }
  // Contacts that were opening and are pressed shut by an impact do work as well, and pay for none of it [J].
  double unpaid(int of_island) {
    double sum = 0;
    for (int k = 0; k < rows_.n_strikes; ++k) {
      const Strike& strike = strikes()[k];
      if (strike.state == Strike::rests && island(strike) == of_island && before_[strike.row] > 0)
        sum += magnitude(work(strike.row));
    }
    return sum;
  }
  void apply_shares() {
    for (int k = 0; k < rows_.n_strikes; ++k) {
      const Strike& strike = strikes()[k];
      if (strike.state != Strike::strikes || !goes_on_[island(strike)]) continue;
      const double share = shares_[strike.impact].value;
      for (int i = strike.first; i <= strike.row; ++i) rows_.g[i] = base_[i] + share * shift_[i];
    }
    solve();
  }
  // Narrows where the share is sought, and proposes the next. False if it is found.
  static bool seek(Share& share) {
    if (!share.sought && !share.brings_energy()) return false;
    share.sought = true;
    (share.brings_energy() ? share.high : share.low) = share.value;
    (share.brings_energy() ? share.at_high : share.at_low) = share.work;
    const bool is_exact = !share.brings_energy() && share.work >= -ImpactTuning::wasted * share.size;
    const double width = share.high - share.low;
    if (is_exact || width <= ImpactTuning::fine_enough) {
      share.value = share.low;
      return false;
    }
    double part = 0.5;  // of the way, by where the account of a straight line vanishes
    if (share.at_low < 0) part = clamp(-share.at_low / (share.at_high - share.at_low), 0.05, 0.95);
    share.value = share.low + part * width;
    return true;
  }
  // Solves again where an impact brings energy.
  void weaken() {
    find_impacts();
    for (int pass = 0; pass < ImpactTuning::most_shares && !is_spent(); ++pass) {
      const bool some = take_accounts();
      if (pass == 0 && !some) return;
      bool seeks = false;
      for (int s = 0; s < n_shares_; ++s) seeks |= seek(shares_[s]);
      apply_shares();
      if (!seeks) break;
    }
    while (take_accounts()) {  // impacts that depend on each other: what is left has to go
      const bool at_once = is_spent();
      bool is_gone = true;
      for (int s = 0; s < n_shares_; ++s) {
        Share& share = shares_[s];
        if (share.brings_energy() || at_once) share.value = share.value > 0.1 && !at_once ? 0.5 * share.value : 0;
        is_gone &= !(share.brings_energy() && share.value > 0);
      }
      apply_shares();
      if (is_gone) break;
    }
    for (int k = 0; k < rows_.n_strikes; ++k) {
      const Strike& strike = strikes()[k];
      if (strike.state != Strike::strikes || !goes_on_[island(strike)]) continue;
      for (int i = strike.first; i <= strike.row; ++i) shift_[i] = rows_.g[i] - base_[i];
    }
  }
};

}  // namespace featherweight::FW_ISA
