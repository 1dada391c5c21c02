"""What must hold inside the image. `check` runs this in the sandbox: check_inside.py base|ml."""

import importlib
import os
import re
import subprocess
import sys
import time
import unittest

BASE = [
    "numpy", "numpy.testing", "pandas", "pandas.testing", "scipy.stats", "scipy.optimize",
    "sklearn.ensemble", "matplotlib.pyplot", "seaborn", "plotly.express", "requests", "urllib3",
    "httpx", "pip", "openpyxl", "PIL.Image", "sympy", "bs4", "lxml.etree", "pyarrow.parquet",
    "duckdb", "tabulate", "tqdm", "networkx", "statsmodels.api", "IPython", "matplotlib_inline",
    "jinja2", "socks", "socksio", "jedi",
]  # fmt: skip


def shell(command):
    return subprocess.run(command, shell=True, text=True, capture_output=True, check=True).stdout


class Image(unittest.TestCase):
    def test_libraries_import(self):
        for name in BASE:
            with self.subTest(name):
                start = time.monotonic()
                importlib.import_module(name)
                print(f"  import {name}: {time.monotonic() - start:.2f} s")

    def test_libraries_work(self):
        import io

        import duckdb
        import matplotlib
        import numpy
        import pandas
        import sklearn.linear_model

        matplotlib.use("agg")
        frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 4.0, 6.0]})
        self.assertAlmostEqual(
            sklearn.linear_model.LinearRegression().fit(frame[["a"]], frame["b"]).coef_[0], 2
        )
        self.assertEqual(duckdb.sql("select sum(b) from frame").fetchall(), [(12,)])
        parquet = io.BytesIO()
        frame.to_parquet(parquet)
        self.assertTrue(pandas.read_parquet(parquet).equals(frame))
        excel = io.BytesIO()
        frame.to_excel(excel)
        self.assertEqual(pandas.read_excel(excel)["b"].sum(), 12)
        self.assertIn("<table", frame.style.to_html())
        picture = io.BytesIO()
        frame.plot(title="Grüße").figure.savefig(picture)
        self.assertTrue(picture.getvalue().startswith(b"\x89PNG"))
        self.assertEqual(numpy.linalg.matrix_rank(numpy.eye(100)), 100)

    def test_standard_library(self):
        import ctypes
        import lzma
        import sqlite3
        import ssl

        database = sqlite3.connect(":memory:")
        self.assertEqual(database.execute("select 1").fetchone(), (1,))
        database.close()
        self.assertEqual(lzma.decompress(lzma.compress(b"x")), b"x")
        self.assertEqual(ctypes.CDLL(None).abs(-3), 3)
        self.assertGreater(len(ssl.create_default_context().get_ca_certs()), 100)
        for name in [
            "bz2",
            "curses",
            "dbm",
            "decimal",
            "readline",
            "uuid",
            "zlib",
            "multiprocessing",
        ]:
            importlib.import_module(name)

    def test_pip(self):
        self.assertIn("/usr/local/lib/python3.13/dist-packages", shell("pip --version"))
        complaints = shell("pip check || true").splitlines()
        # torch names one patch release of sympy; Debian builds and tests it with another.
        self.assertEqual(
            [
                c
                for c in complaints
                if not re.match("torch .* has requirement sympy==|No broken", c)
            ],
            [],
        )

    def test_pip_installs_without_refusing(self):
        # From a source of this test's own: there may be no network.
        os.makedirs("/tmp/wheel/forevervm_probe-1.dist-info")
        with open("/tmp/wheel/forevervm_probe.py", "w") as f:
            f.write("answer = 42\n")
        info = "/tmp/wheel/forevervm_probe-1.dist-info/"
        for name, text in {
            "METADATA": "Metadata-Version: 2.1\nName: forevervm-probe\nVersion: 1\n",
            "WHEEL": "Wheel-Version: 1.0\nGenerator: check\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }.items():
            with open(info + name, "w") as f:
                f.write(text)
        shell("cd /tmp/wheel && python -m zipfile -c /tmp/forevervm_probe-1-py3-none-any.whl *")
        self.assertNotIn(
            "WARNING", shell("pip install --no-index /tmp/forevervm_probe-1-py3-none-any.whl 2>&1")
        )
        self.assertEqual(
            shell("cd / && python -c 'import forevervm_probe as p; print(p.__file__)'").strip(),
            "/usr/local/lib/python3.13/dist-packages/forevervm_probe.py",
        )

    def test_venv(self):
        # Without a network: its pip comes from the image.
        shell("python3 -m venv /tmp/venv")
        self.assertIn("/tmp/venv/lib/", shell("/tmp/venv/bin/python -m pip --version"))

    def test_locales(self):
        import locale

        try:
            for name in ["", "C.UTF-8", "en_US.UTF-8", "en_GB.UTF-8", "es_ES.UTF-8", "fr_FR.UTF-8"]:
                locale.setlocale(locale.LC_ALL, name)
                self.assertEqual(locale.nl_langinfo(locale.CODESET), "UTF-8", name)
            locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
            self.assertEqual(locale.format_string("%.2f", 1234.5, grouping=True), "1.234,50")
            self.assertEqual(sorted("zäa", key=locale.strxfrm), ["a", "ä", "z"])
            self.assertEqual(time.strftime("%A", time.gmtime(0)), "Donnerstag")
        finally:
            locale.setlocale(locale.LC_ALL, "C.UTF-8")

    def test_sample_data(self):
        from matplotlib import cbook

        self.assertIn("price_data", cbook.get_sample_data("goog.npz"))

    def test_text_and_time(self):
        import zoneinfo

        self.assertEqual(sys.getfilesystemencoding(), "utf-8")
        self.assertEqual(sys.stdout.encoding, "utf-8")
        self.assertEqual(shell("echo grüße ☃"), "grüße ☃\n")
        self.assertEqual(shell("locale charmap").strip(), "UTF-8")
        self.assertEqual(time.tzname[0], "UTC")
        for name in ["Europe/Berlin", "US/Eastern"]:
            zoneinfo.ZoneInfo(name)

    def test_shell(self):
        for command in [
            "bash",
            "ls",
            "ps",
            "curl",
            "unzip",
            "tar",
            "gzip",
            "sed",
            "grep",
            "find",
            "apt-get",
            "python",
        ]:
            shell(f"command -v {command}")

    def test_places(self):
        self.assertEqual(os.path.expanduser("~"), "/root")
        for folder in ["/mnt/work", "/mnt/outbox", "/mnt/shared", "/run/egress"]:
            self.assertEqual(os.listdir(folder), [], folder)
        for folder in ["/tmp", "/var/tmp"]:
            self.assertEqual(os.stat(folder).st_mode & 0o7777, 0o1777, folder)
        for folder in ["/root", "/usr/local/lib/python3.13/dist-packages", "/tmp"]:
            with open(folder + "/probe", "w") as f:
                f.write("x")
            os.unlink(folder + "/probe")
        self.assertGreater(os.stat("/usr/bin/env").st_mtime, 1_700_000_000)

    def test_modules_are_compiled(self):
        import importlib.util

        for name in ["argparse", "IPython", "pandas", "numpy", "jinja2"]:
            spec = importlib.util.find_spec(name)
            assert spec and spec.cached, name
            with open(spec.cached, "rb") as f:
                flags = int.from_bytes(f.read(8)[4:], "little")
            self.assertEqual(flags, 1, f"{spec.cached}: not unchecked-hash")

    def test_licences_are_in_it(self):
        with open("/usr/share/doc/forevervm/LICENSES.txt") as f:
            index = f.read()
        for line in index.splitlines():
            if line.startswith("    /"):
                self.assertTrue(os.path.exists(line.strip()), line)
        for name in ["numpy", "pandas", "libc6", "python3.13-minimal"]:
            self.assertRegex(index, rf"(?m)^{name} \d[^:]*: \S")

    def test_nothing_of_the_host(self):
        self.assertEqual(shell("find / -xdev -perm /6000 -type f 2>/dev/null || true"), "")
        self.assertEqual(shell("cat /etc/resolv.conf /etc/hostname"), "forevervm\n")
        self.assertEqual(
            shell("ls -A /var/log /var/cache /var/lib/apt/lists"),
            "/var/cache:\n\n/var/lib/apt/lists:\n\n/var/log:\n",
        )


class Ml(unittest.TestCase):
    def test_torch(self):
        import torch

        self.assertFalse(torch.cuda.is_available())
        product = torch.arange(6.0).reshape(2, 3) @ torch.ones(3, 2)
        self.assertEqual(product.tolist(), [[3.0, 3.0], [12.0, 12.0]])
        self.assertEqual(torch.from_numpy(__import__("numpy").ones(3)).sum().item(), 3)

    def test_transformers(self):
        import torch
        import transformers

        config = transformers.BertConfig(
            vocab_size=50,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
        )
        model = transformers.BertModel(config).eval()
        with torch.no_grad():
            out = model(torch.tensor([[1, 2, 3, 4]]))
        self.assertEqual(tuple(out.last_hidden_state.shape), (1, 4, 16))
        import safetensors.torch

        safetensors.torch.save_file({"x": torch.ones(2)}, "/tmp/x.safetensors")
        self.assertEqual(safetensors.torch.load_file("/tmp/x.safetensors")["x"].sum().item(), 2)


if __name__ == "__main__":
    variant = sys.argv.pop()
    if variant == "base":
        del Ml
    unittest.main(verbosity=2)
