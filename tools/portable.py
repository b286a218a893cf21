"""Run tests and chapters as on other machines: python tools/portable.py [--list] [--only NAME ...] [PYTEST ARGUMENTS].

Each setting changes what a machine may differ in, by environment alone, and runs pytest once; with no arguments the
library's tests and the strict comparison of all chapters. Results come side by side; the logs are in _build/portable.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "_build" / "portable"
EVERYTHING = ["tests", "notebooks", "--nbval", "--ignore-glob=tests/site/test_*site.py"]

# OpenBLAS's kernels, each with a feature by NumPy's name without which the processor cannot run it.
KERNELS = {"PRESCOTT": "SSE3", "NEHALEM": "SSE42", "SANDYBRIDGE": "AVX", "HASWELL": "X86_V3", "SKYLAKEX": "X86_V4"}
KERNELS |= {"ARMV8": "ASIMD", "NEOVERSEN1": "ASIMDDP"}

# What glibc's exp, log and pow would use on newer processors.
WITHOUT = "AVX,AVX2,AVX512F,FMA,FMA4"


def processor():
    """Return name -> environment of the processors that this one can stand in for."""
    from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched
    from numpy._core._multiarray_umath import __cpu_features__ as has

    off = " ".join(name for name in dispatched if has.get(name))
    tunables = "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in WITHOUT.split(","))
    found = {"numpy-without-dispatch": {"NPY_DISABLE_CPU_FEATURES": off}} if off else {}
    found |= {f"blas-{name.lower()}": {"OPENBLAS_CORETYPE": name} for name, needs in KERNELS.items() if has.get(needs)}
    if sys.platform == "linux" and has.get("FMA3"):
        found["libm-without-fma"] = {"GLIBC_TUNABLES": tunables}
    return found


def threads():
    """Return one and two threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {f"threads-{n}": dict.fromkeys(names, str(n)) for n in (1, 2)}


def place():
    """Return other locales (plain C; one with a decimal comma if there is one), time zones, hash seeds."""
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout if shutil.which("locale") else ""
    comma = [name for name in listed.split() if name.startswith(("de_", "fr_", "tr_", "pl_"))]
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    found = {"locale-c": ascii_only | {"TZ": "Pacific/Chatham"}, "hash-seed": {"PYTHONHASHSEED": "12345"}}
    return found | ({"locale-comma": {"LC_ALL": comma[0], "TZ": "America/St_Johns"}} if comma else {})


def fonts():
    """Return a font set of one unlikely font, matplotlib's typewriter; what the site ships must be all it needs."""
    import matplotlib

    folder, cache = LOGS / "fonts", LOGS / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "cmtt10.ttf", folder)
    config = LOGS / "fonts.conf"
    config.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">'
        f"<fontconfig><dir>{folder}</dir><cachedir>{cache}</cachedir></fontconfig>\n"
    )
    return {"one-font": {"FONTCONFIG_FILE": str(config), "MPLCONFIGDIR": str(LOGS / "matplotlib")}}


def settings():
    """Return name -> (environment, Python, pytest arguments) of all settings; all at once is a setting too."""
    apart = processor() | threads() | place()
    together = {
        key: value for name in [*reversed(processor()), *threads(), *place()] for key, value in apart[name].items()
    }
    found = {name: (env, sys.executable, EVERYTHING) for name, env in (apart | {"all-at-once": together}).items()}
    for name, env in fonts().items():
        found[name] = (env, sys.executable, ["tests/site/test_site.py"])
    return found | pythons()


def pythons():
    """Return other Pythons with what the lock names, and the lowest versions declared; uv installs them.

    A notebook's stored output shows what one version of pandas prints, so the lowest versions run the chapters, whose
    checks must hold, without comparing outputs.
    """
    found = {}
    for version in ("3.11", "3.12", "3.13", "3.14"):
        path = shutil.which(f"python{version}")
        if path and version != f"{sys.version_info.major}.{sys.version_info.minor}":
            found[f"python-{version}"] = (["--require-hashes", "-r", "requirements.lock"], path, EVERYTHING)
    extras = [word for extra in ("book", "test", "scale", "teach", "secure", "data") for word in ("--extra", extra)]
    lowest = ["--resolution", "lowest-direct", "-r", "pyproject.toml", *extras]
    lax = [argument if argument != "--nbval" else "--nbval-lax" for argument in EVERYTHING]
    return found | {"lowest-versions": (lowest, sys.executable, lax)}


def installed(name, requirements, python):
    """Make or reuse an environment in _build/portable; return its Python, or None and say why not."""
    folder, uv = LOGS / f"venv-{name}", Path(sys.executable).with_name("uv")
    env = os.environ | {"VIRTUAL_ENV": str(folder), "PYTHONPATH": ""}
    venv = ["venv", "--quiet", "--allow-existing", "--seed", "--python", python, folder]  # tests of the wheel need pip
    for command in (venv, ["pip", "install", "--quiet", *requirements]):
        done = subprocess.run([uv, *command], cwd=ROOT, env=env, capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: could not be installed\n{done.stderr}")
            return None
    return str(folder / "bin" / "python")


def run(name, environment, python, arguments, jobs):
    """Run pytest once; return whether it passed, and its last line."""
    log, start = LOGS / f"{name}.log", time.monotonic()
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    env = os.environ | one | {"PYTHONPATH": str(ROOT)} | environment
    options = ["-q", "-p", "no:cacheprovider", "-p", "tools.kernels", "-n", str(jobs), "--dist", "loadfile"]
    command = [python, "-m", "pytest", *options, *arguments]
    with log.open("w") as out:
        code = subprocess.run(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT).returncode
    lines = log.read_text(errors="replace").splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    verdict, seconds, last = "pass" if code == 0 else "FAIL", time.monotonic() - start, (lines or [""])[-1]
    print(f"{verdict}  {name:24} {seconds:6.0f} s  {last}", flush=True)
    for line in failed[:20]:
        print(f"      {line[:150]}", flush=True)
    return code == 0


def main():
    """Run the settings asked for; fail if one fails or could not be set up."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name the settings that this machine can run")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these settings only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen, arguments = parser.parse_known_args()
    arguments = [argument for argument in arguments if argument != "--"]
    LOGS.mkdir(parents=True, exist_ok=True)
    every = settings()
    unknown = set(chosen.only or ()) - set(every)
    if unknown:
        parser.error(f"no such setting: {', '.join(sorted(unknown))}; there are: {', '.join(every)}")
    good = True
    for name in chosen.only or every:
        how, python, what = every[name]
        if chosen.list:
            print(name, how if isinstance(how, dict) else python)
            continue
        if "tests/site/test_site.py" in what and not (ROOT / "_build" / "html" / "index.html").is_file():
            subprocess.run(["make", "--silent", "book"], cwd=ROOT, check=True)
            subprocess.run([sys.executable, "tests/browser.py"], cwd=ROOT, check=True)
        environment = how if isinstance(how, dict) else {}
        python = python if isinstance(how, dict) else installed(name, how, python)
        good &= python is not None and run(name, environment, python, arguments or what, chosen.jobs)
    sys.exit(not good)


if __name__ == "__main__":
    main()
