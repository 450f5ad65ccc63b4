# Sourced by quickstart and run-tests. `root` is the repository.
# shellcheck shell=bash

# Clones in different folders share ccache's results.
export CCACHE_BASEDIR=${root:?}
export CCACHE_NOHASHDIR=1
