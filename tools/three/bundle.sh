#!/usr/bin/env bash
# Makes src/featherweight/viewer/assets/three.min.js: what viewer.js uses of three.js, in one file. Needs npm.
set -euo pipefail
version=0.187.0
here=$(cd "$(dirname "$0")" && pwd)
assets=$here/../../src/featherweight/viewer/assets
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent "three@$version" esbuild@0.25
cp "$here/entry.js" .
npx esbuild entry.js --bundle --minify --format=iife --global-name=THREE --legal-comments=inline \
  --outfile="$assets/three.min.js"
cp node_modules/three/LICENSE "$assets/three.LICENSE"
