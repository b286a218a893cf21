// Runs a live box's Python, away from the page. fractions needs neither decimals nor regular expressions for what boxes do.
"use strict";
importScripts("brython/brython.js", "brython/brython_stdlib.js");

const START = `
import sys
from browser import self as scope

class _Unused:
    VERBOSE = IGNORECASE = DOTALL = 0
    Decimal = type("Decimal", (), {})

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

class _Functools(_Unused):
    def lru_cache(self, *args, **kwargs):
        return lambda function: function

for name in ("decimal", "re"):
    sys.modules[name] = _Unused()
sys.modules["functools"] = _Functools()
from fractions import Fraction as F
from itertools import product
`;
const END = `
def _say(value):
    return "(" + ", ".join(map(_say, value)) + ")" if isinstance(value, (list, tuple)) else str(value)

for _label, _exact, _yours in cases():
    _equal = _exact == _yours
    try:
        _gap = "" if _equal else str(_yours - _exact)
    except TypeError:
        _gap = ""
    scope.row(str(_label), _say(_exact), _say(_yours), bool(_equal), _gap)
`;

let rows = [], number = 0;
self.row = (label, exact, yours, equal, gap) => { rows.push({ label, exact, yours, equal, gap }); };

function told(error) {
  const text = error?.args?.length ? `${error.__class__?.__name__ ?? error.ob_type?.tp_name ?? "Error"}: ${error.args[0]}` : String(error?.message ?? error);
  return text.slice(0, 300);
}

self.onmessage = ({ data: { id, formula, exact } }) => {
  rows = [];
  try {
    number += 1;
    __BRYTHON__.runPythonSource(`${START}\n${formula}\n${exact}\n${END}`, `box${number}`);
    self.postMessage({ id, rows });
  } catch (error) {
    self.postMessage({ id, error: told(error) });
  }
};
self.postMessage({ ready: true });
