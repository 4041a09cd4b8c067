# Called by tools/cuda_check.sh from the root of the tree, with NVCC, FLAGS, CXX, CXX_FLAGS and
# SOURCES. As in cmake/room.cmake, nvcc gets what includes Kokkos or has kernels of its own; the
# rest only calls CUDA's libraries and is plain C++.
folder := build/cuda-check
objects := $(patsubst %.cpp,$(folder)/%.o,$(SOURCES))
command := $(NVCC) $(FLAGS) -I. -Iinclude -isystem .deps/kokkos-cuda/include
plain := $(CXX) $(CXX_FLAGS) -I. -Iinclude
ours := src/device/space|kernels/support/(elements|rows|column_tree)
wants_nvcc := ^\#include (<(Kokkos_|cuda_runtime\.h>)|"($(ours))\.hpp")

all: $(objects)

# Rewritten only when the flags differ from those of the last call.
$(folder)/flags: force
	@echo '$(command) $(plain)' | cmp -s - $@ || echo '$(command) $(plain)' > $@

$(folder)/%.o: %.cpp $(folder)/flags
	@mkdir -p $(@D)
	@if grep -qE '$(wants_nvcc)' $<; then \
	  echo "nvcc sm_90 $<"; \
	  $(command) -MMD -MP -MF $(@:.o=.d) -x cu -c $< -o $@; \
	else \
	  echo "c++ $<"; \
	  $(plain) -MMD -MP -MF $(@:.o=.d) -c $< -o $@; \
	fi

.PHONY: all force
-include $(objects:.o=.d)
