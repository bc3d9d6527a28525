// pinocchio_held.hpp -- what the programs share that hold a robot somewhere.
//
// CONSTRAINTS is a file of text: the rows of each constraint (3 or 6, all alike), their number, and for each its joint
// and placement there.
#pragma once
#include <vector>

#include <pinocchio/constraints.hpp>

#include "pinocchio_peer.hpp"

namespace peer {

struct Held {
  std::size_t joint;
  pinocchio::SE3 placement;
};

struct Constraints {
  int rows;  // of each
  std::vector<Held> all;

  explicit Constraints(std::istream& in) : rows(read<int>(in)), all(read<std::size_t>(in)) {
    for (Held& held : all) {
      held.joint = read<std::size_t>(in);
      held.placement = read_placement(in);
    }
  }
};

// What a method is run with: constraints, and Data of its own, because the methods leave each other's in a state they
// do not expect.
template <class Constraint>
struct Setup {
  pinocchio::Data data;
  std::vector<Constraint> models;
  std::vector<typename Constraint::ConstraintData> datas;

  template <class Make>
  Setup(const pinocchio::Model& model, const Constraints& constraints, Make make) : data(model) {
    for (const Held& held : constraints.all) models.push_back(make(held));
    for (const Constraint& constraint : models) datas.push_back(constraint.createData());
  }
};

// Constraints of the older kind, which most of Pinocchio's functions take.
inline auto contact(const pinocchio::Model& model, const Constraints& constraints) {
  const auto type = constraints.rows == 3 ? pinocchio::CONTACT_3D : pinocchio::CONTACT_6D;
  return [&model, type](const Held& held) {
    return pinocchio::RigidConstraintModel(type, model, held.joint, held.placement, pinocchio::LOCAL);
  };
}

// Constraints of the newer kind, which have their rows by type.
template <class Constraint>
auto anchor(const pinocchio::Model& model) {
  return [&model](const Held& held) { return Constraint(model, held.joint, held.placement); };
}

}  // namespace peer
