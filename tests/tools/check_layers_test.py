"""Each rule of tools/check_layers.py finds a file that breaks it."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "tools/check_layers.py"
LAYERS = """perfuse_layer(core core LIBRARIES fmt::fmt)
perfuse_layer(tensor tensor DEPENDS core)
perfuse_layer(cpu backends/cpu DEPENDS tensor
              LIBRARIES DNNL::dnnl)
"""


class CheckLayers(unittest.TestCase):
    def run_on(self, **files):
        """Exit status and output for a repository with these files (`__` stands for `/`)."""
        with tempfile.TemporaryDirectory() as folder:
            perfuse = pathlib.Path(folder, "perfuse")
            for layer in ("core", "tensor", "backends/cpu"):
                (perfuse / layer).mkdir(parents=True)
            (perfuse / "CMakeLists.txt").write_text(LAYERS)
            (perfuse / "core/error.h").write_text("#include <fmt/format.h>\n#include <string>\n")
            for name, text in files.items():
                path = perfuse / name.replace("__", "/").replace("_h", ".h").replace("_cpp", ".cpp")
                path.write_text(text)
            run = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True)
            return run.returncode, run.stdout

    def test_downwards_is_right(self):
        status, out = self.run_on(tensor__a_cpp='#include "perfuse/core/error.h"\n#include <png.h>\n',
                                  backends__cpu__b_h='#include "perfuse/core/error.h"\n#include <dnnl.hpp>\n')
        self.assertEqual(status, 0, out)
        self.assertIn("0 wrong", out)

    def test_upwards_is_wrong(self):
        status, out = self.run_on(tensor__a_h="", core__a_cpp='\n#include "perfuse/tensor/a.h"\n')
        self.assertEqual(status, 1)
        self.assertIn('perfuse/core/a.cpp:2: layer core includes "perfuse/tensor/a.h"', out)

    def test_backend_is_nobodys(self):
        status, out = self.run_on(backends__cpu__b_h="", tensor__a_cpp='#include "perfuse/backends/cpu/b.h"\n')
        self.assertEqual(status, 1, out)

    def test_above_every_layer(self):
        status, out = self.run_on(top_h="", core__a_cpp='#include "perfuse/top.h"\n')
        self.assertEqual(status, 1)
        self.assertIn("above every layer", out)

    def test_public_header_with_foreign_include(self):
        for header in ("spdlog/spdlog.h", "png.h"):
            text = f"#include <{header}>\n"
            status, out = self.run_on(core__a_h=text, perfuse_h='#include "perfuse/core/a.h"\n')
            self.assertEqual(status, 1)
            self.assertIn(header, out)
            status, out = self.run_on(core__a_h=text, core__b_h="", perfuse_h='#include "perfuse/core/b.h"\n')
            self.assertEqual(status, 0, out)

    def test_public_header_with_backend(self):
        status, out = self.run_on(backends__cpu__b_h="", perfuse_h='#include "perfuse/backends/cpu/b.h"\n')
        self.assertEqual(status, 1, out)

    def test_missing_and_relative(self):
        status, out = self.run_on(core__a_cpp='#include "perfuse/core/gone.h"\n#include "../core/error.h"\n')
        self.assertEqual(status, 1)
        self.assertIn("does not exist", out)
        self.assertIn("2 wrong", out)


if __name__ == "__main__":
    unittest.main()
