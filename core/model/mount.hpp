// model/mount.hpp -- poses in the user's frames, on the compiled links that carry them.
#pragma once
#include "model/model.hpp"

namespace featherweight {

// A pose in a link or frame of the user's, numbered as the tree's mounts; -1: the world.
Mount<double> mount_on_link(const Tree<double>& tree, int frame, const PoseArray& pose);

}  // namespace featherweight
