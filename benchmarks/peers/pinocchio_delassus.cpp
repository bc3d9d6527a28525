// pinocchio_delassus.cpp -- times all of Pinocchio's ways to the Delassus matrix J H^-1 J^T of a robot that is held,
// and to the inverse of one that is damped, (J H^-1 J^T + mu)^-1.
//
//   pinocchio_delassus MODEL SAMPLES COUNT CONSTRAINTS
//
// Requests and files are those of pinocchio_peer.hpp and pinocchio_held.hpp. ALGORITHM is one of the names below and
// mu, which ways to the matrix itself leave unused. What is timed ends where Pinocchio leaves its result, be that one
// triangle or a member of its workspace.
#include <map>
#include <memory>

#include <Eigen/Cholesky>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/cholesky.hpp>
#include <pinocchio/algorithm/constraint-cholesky.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/delassus-operator.hpp>
#include <pinocchio/algorithm/delassus.hpp>
#include <pinocchio/algorithm/jacobian.hpp>

#include "pinocchio_held.hpp"

namespace {

using Eigen::MatrixXd, pinocchio::Model;
using Algorithms = std::map<std::string, peer::Algorithm>;

MatrixXd from_upper(const MatrixXd& upper) { return upper.selfadjointView<Eigen::Upper>(); }

template <class Constraint>
struct Workspace : peer::Setup<Constraint> {
  MatrixXd result;

  template <class Make>
  Workspace(const Model& model, const peer::Constraints& constraints, Make make)
      : peer::Setup<Constraint>(model, constraints, make) {
    const auto size = constraints.rows * static_cast<Eigen::Index>(constraints.all.size());
    result = MatrixXd::Zero(size, size);
  }
};

// The factor's matrix without factorising that as well, which only inverses need.
struct Cholesky : pinocchio::ConstraintCholeskyDecompositionTpl<double, 0> {
  using Base = pinocchio::ConstraintCholeskyDecompositionTpl<double, 0>;
  using Base::Base, Base::delassus_block;
};

struct Rigid : Workspace<pinocchio::RigidConstraintModel> {
  Cholesky cholesky;
  MatrixXd J, J_Minv, Y, scaled, inverse;

  Rigid(const Model& model, const peer::Constraints& constraints)
      : Workspace(model, constraints, peer::contact(model, constraints)),
        cholesky(model, data, models, datas),
        J(MatrixXd::Zero(result.rows(), model.nv)),
        J_Minv(J),
        Y(J.transpose()),
        scaled(Y),
        inverse(result) {
    pinocchio::initPvDelassus(model, data, models);  // read by computePvDelassusMatrix alone
  }
};

template <class Constraint>
struct Anchored : Workspace<Constraint> {
  using Operator =
      pinocchio::DelassusOperatorRigidBodySystemsTpl<double, 0, pinocchio::JointCollectionDefaultTpl, Constraint>;
  Operator delassus;

  Anchored(const Model& model, const peer::Constraints& constraints)
      : Workspace<Constraint>(model, constraints, peer::anchor<Constraint>(model)),
        delassus(std::cref(model), std::ref(this->data), std::cref(this->models), std::cref(this->datas)) {}
};

// `method(workspace, q)` returns a reference to its result, which `finish` completes.
template <class Space, class Method>
peer::Algorithm run(const Model& model, const peer::Samples& samples, const peer::Constraints& constraints,
                    Method method, MatrixXd (*finish)(const MatrixXd&)) {
  const auto space = std::make_shared<Space>(model, constraints);
  return peer::algorithm(
      static_cast<int>(samples.q.size()),
      [&samples, space, method](int i) -> auto& { return method(*space, samples.q[i]); }, finish);
}

// crba and Jacobians: all that a factor of the held robot is made of.
void prepare(const Model& model, Rigid& w, const Eigen::VectorXd& q) {
  pinocchio::crba(model, w.data, q, pinocchio::Convention::WORLD);
  pinocchio::calc(model, w.data, w.models, w.datas);
}

Algorithms rigid_methods(const Model& model, const peer::Samples& samples, const peer::Constraints& constraints,
                         const double& mu) {
  using Q = const Eigen::VectorXd&;
  const auto way = [&](auto method, auto finish) { return run<Rigid>(model, samples, constraints, method, finish); };
  const auto pv = [&](Rigid& w, Q q) {
    pinocchio::computePvDelassusMatrix(model, w.data, q, w.models, w.datas, w.result, 0.0);
  };
  const auto damped = [&](bool by_pv) {
    return [&, by_pv](Rigid& w, Q q) -> auto& {
      pinocchio::computeDampedDelassusMatrixInverse(model, w.data, q, w.models, w.datas, w.result, mu, false, by_pv);
      return w.result;
    };
  };
  Algorithms all;
  all["computeDelassusMatrix"] = way(
      [&](Rigid& w, Q q) -> auto& {
        pinocchio::computeDelassusMatrix(model, w.data, q, w.models, w.datas, w.result, 0.0);
        return w.result;
      },
      from_upper);
  all["computePvDelassusMatrix"] = way([=](Rigid& w, Q q) -> auto& { return pv(w, q), w.result; }, from_upper);
  all["ConstraintCholesky"] = way(
      [&](Rigid& w, Q q) -> auto& {
        prepare(model, w, q);
        w.cholesky.compute(model, w.data, w.models, w.datas, true, false);
        return w.cholesky.delassus_block;
      },
      peer::as_is);
  all["cholesky"] = way(  // H = U D U^T, Y = U^-1 J^T
      [&](Rigid& w, Q q) -> auto& {
        prepare(model, w, q);
        pinocchio::getConstraintsJacobian(model, w.data, w.models, w.datas, w.J);
        pinocchio::cholesky::decompose(model, w.data);
        w.Y = w.J.transpose();
        pinocchio::cholesky::Uiv(model, w.data, w.Y);
        w.scaled.noalias() = w.data.Dinv.asDiagonal() * w.Y;
        w.result.noalias() = w.Y.transpose() * w.scaled;
        return w.result;
      },
      peer::as_is);
  all["computeMinverse"] = way(
      [&](Rigid& w, Q q) -> auto& {
        pinocchio::computeMinverse(model, w.data, q);
        pinocchio::calc(model, w.data, w.models, w.datas);
        pinocchio::getConstraintsJacobian(model, w.data, w.models, w.datas, w.J);
        w.J_Minv.noalias() = w.J * w.data.Minv.selfadjointView<Eigen::Upper>();
        w.result.noalias() = w.J_Minv * w.J.transpose();
        return w.result;
      },
      peer::as_is);
  all["computeDampedDelassusMatrixInverse"] = way(damped(true), from_upper);
  all["computeDampedDelassusMatrixInverse_EFPA"] = way(damped(false), from_upper);
  all["ConstraintCholesky_inverse"] = way(
      [&](Rigid& w, Q q) -> auto& {
        prepare(model, w, q);
        w.cholesky.compute(model, w.data, w.models, w.datas, mu);
        w.cholesky.getOperationalSpaceInertiaMatrix(w.result);
        return w.result;
      },
      peer::as_is);
  all["computePvDelassusMatrix_LLT"] = way(
      [=, &mu](Rigid& w, Q q) -> auto& {
        pv(w, q);
        w.result.diagonal().array() += mu;
        const Eigen::LLT<Eigen::Ref<MatrixXd>, Eigen::Upper> factor(w.result);
        w.inverse.setIdentity();
        factor.solveInPlace(w.inverse);
        return w.inverse;
      },
      peer::as_is);
  return all;
}

template <class Constraint>
Algorithms operator_methods(const Model& model, const peer::Samples& samples, const peer::Constraints& constraints,
                            const double& mu) {
  using Q = const Eigen::VectorXd&;
  using Space = Anchored<Constraint>;
  const auto way = [&](auto method) { return run<Space>(model, samples, constraints, method, peer::as_is); };
  const auto place = [&](Space& w, Q q) {
    pinocchio::computeJointJacobians(model, w.data, q);
    // anchored where the robot is, as the rows of the others: those of a point depend on how far it is from its anchor
    for (Constraint& held : w.models) held.joint2_placement = w.data.oMi[held.joint1_id] * held.joint1_placement;
    pinocchio::calc(model, w.data, w.models, w.datas);
  };
  Algorithms all;
  all["DelassusOperatorRigidBody"] = way([=](Space& w, Q q) -> auto& {
    place(w, q);
    w.delassus.compute(true, false);
    w.delassus.undampedMatrix(w.result);
    return w.result;
  });
  all["DelassusOperatorRigidBody_inverse"] = way([=, &mu](Space& w, Q q) -> auto& {
    place(w, q);
    w.delassus.updateDamping(mu);
    w.delassus.compute(false, true);
    w.result.setIdentity();
    for (Eigen::Index k = 0; k < w.result.cols(); ++k) w.delassus.solveInPlace(w.result.col(k));
    return w.result;
  });
  return all;
}

Algorithms methods(const Model& model, const peer::Samples& samples, const peer::Constraints& constraints,
                   const double& mu) {
  Algorithms all = rigid_methods(model, samples, constraints, mu);
  all.merge(constraints.rows == 3
                ? operator_methods<pinocchio::PointAnchorConstraintModel>(model, samples, constraints, mu)
                : operator_methods<pinocchio::FrameAnchorConstraintModel>(model, samples, constraints, mu));
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw std::runtime_error("usage: pinocchio_delassus MODEL SAMPLES COUNT CONSTRAINTS");
  std::ifstream model_file(argv[1]), sample_file(argv[2], std::ios::binary), constraint_file(argv[4]);
  const int count = std::stoi(argv[3]);
  const Model model = peer::read_model(model_file);
  const peer::Samples samples(sample_file, model, count);
  const peer::Constraints constraints(constraint_file);
  double mu = 0;
  const Algorithms algorithms = methods(model, samples, constraints, mu);
  peer::serve(count, [&](std::istream& in) -> auto& {
    const auto name = peer::read<std::string>(in);
    mu = peer::read<double>(in);
    return algorithms.at(name);
  });
  return 0;
} catch (const std::exception& error) {
  std::cerr << "pinocchio_delassus: " << error.what() << '\n';
  return 1;
}
