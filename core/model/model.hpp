// model/model.hpp -- a robot: what the user describes, and the immutable compiled Model.
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "model/tree.hpp"

namespace featherweight {

enum class JointType { fixed, revolute, continuous, prismatic, helical, universal, planar, spherical, free };

// Pose of a child in its parent as a homogeneous matrix, row-major.
using PoseArray = std::array<double, 16>;

struct LinkSpec {
  std::string name;
  double mass = 0;                  // [kg]
  std::array<double, 3> com{};      // [m], link coordinates
  std::array<double, 9> inertia{};  // [kg m^2] about the com, link axes, row-major
};

// The child link's pose in its parent link is placement * motion(q) * child_placement.
struct JointSpec {
  std::string name;
  JointType type = JointType::fixed;
  int parent = -1;  // index of a link, -1: world
  int child = 0;
  PoseArray placement{}, child_placement{};
  std::array<double, 3> axis{}, axis2{};  // unit vectors in the joint frame
  double pitch = 0;                       // helical [m/rad]
  std::vector<double> armature;           // one per degree of freedom
};

struct FrameSpec {
  std::string name;
  int link = -1;
  PoseArray placement{};
};

// Joint k carries link k; parents come first, subtrees are contiguous.
struct ModelSpec {
  std::string name;
  std::array<double, 3> gravity{0, 0, -9.81};
  std::vector<LinkSpec> links;
  std::vector<JointSpec> joints;
  std::vector<FrameSpec> frames;
};

// Coordinates of a joint in configurations and in velocities.
struct JointRange {
  int q, nq, v, nv;
};

// What one of the user's links brings to the compiled link that carries it, in that one's coordinates: mass, mass times
// centre of mass (3), moments about the origin xx xy xz yy yz zz. Zero for what the world carries.
using InertiaShare = std::array<double, 10>;

// Owns the arrays a Tree points into.
template <class C>
struct TreeStorage {
  std::vector<Link<C>> links;
  std::vector<Mount<C>> mounts;
  std::vector<int> quaternions, dof_parent, row;
  Tree<C> tree{};

  void point();  // sets tree's pointers and counts
};

class Model {
 public:
  // Compiles a description; throws std::invalid_argument naming the culprit.
  explicit Model(ModelSpec spec);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelSpec& spec() const { return spec_; }
  int nq() const { return f64_.tree.nq; }
  int nv() const { return f64_.tree.nv; }
  int n_links() const { return f64_.tree.n_user_links; }
  double mass() const { return mass_; }  // of all links, fixed to the world or not [kg]
  const std::vector<InertiaShare>& inertia_shares() const { return shares_; }  // of links; their sums are the tree's
  const std::vector<JointRange>& joint_ranges() const { return ranges_; }
  std::size_t joint_of(int link) const;  // the joint that compiled link belongs to
  std::vector<double> neutral() const;

  // Index of a link or frame by name; throws with the closest names.
  int frame(const std::string& name) const;
  int n_frames() const { return f64_.tree.n_mounts; }
  const std::string& frame_name(int index) const;

  // Why this model cannot be computed in single precision; empty if it can.
  const std::string& f32_problem() const { return f32_problem_; }

  template <class T>
  const Tree<T>& tree() const {
    if constexpr (sizeof(T) == sizeof(double))
      return f64_.tree;
    else
      return f32_.tree;
  }

 private:
  ModelSpec spec_;
  std::map<std::string, int> frames_;  // links and frames by name
  std::string f32_problem_;
  std::vector<JointRange> ranges_;
  std::vector<InertiaShare> shares_;
  double mass_ = 0;
  TreeStorage<double> f64_;
  TreeStorage<float> f32_;
};

}  // namespace featherweight
