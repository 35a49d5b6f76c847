#!/usr/bin/env python3
"""kernels/*.lua against their peers in torch and Triton, in one process; samples in bench/results/peers_<kernel>.json.

    python3 bench/peers.py [gemm fp8 attention rms_norm layer_norm softmax transpose swiglu] [--reps 31] [--quick] [--tuned] [--no-pdl]
                          [--graph] [--config TABLE] [--out DIR]

Needs torch with CUDA, Triton, weir's module ($WEIR_BUILD/lua/weir/core.so, default build) and liblua5.4 ($LUA_LIBRARY, else what
the linker knows). weir runs in a Lua state inside this process, on torch's memory and stream.

A sample is the time of a few launches between two events; weir's overlap there (programmatic dependent launch) unless --no-pdl.
weir and each peer take turns, so that clocks and heat are the same for all; the ratio is the median over neighbouring samples.
Results are compared with a reference in f32 or f64 in the same run, on random data; a wrong result is written down as such and
printed.
"""
import argparse
import ctypes
import ctypes.util
import datetime
import json
import math
import os
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# ---- weir in a Lua state of ours -----------------------------------------------------------------------------------------------

class Lua:
    """The few calls of liblua that running chunks and functions takes."""

    def __init__(self):
        path = os.environ.get("LUA_LIBRARY") or ctypes.util.find_library("lua5.4") or ctypes.util.find_library("lua")
        if not path:
            sys.exit("liblua5.4 is not found: set LUA_LIBRARY to its path")
        lib = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)  # core.so takes Lua's symbols from here
        ptr, cint = ctypes.c_void_p, ctypes.c_int
        lib.luaL_newstate.restype = ptr
        lib.luaL_openlibs.argtypes = [ptr]
        lib.luaL_loadstring.argtypes = [ptr, ctypes.c_char_p]
        lib.lua_pcallk.argtypes = [ptr, cint, cint, cint, ctypes.c_long, ptr]
        lib.luaL_tolstring.argtypes = [ptr, cint, ptr]
        lib.luaL_tolstring.restype = ctypes.c_char_p
        lib.luaL_ref.argtypes = [ptr, cint]
        lib.lua_rawgeti.argtypes = [ptr, cint, ctypes.c_longlong]
        lib.lua_settop.argtypes = [ptr, cint]
        self.lib, self.state = lib, lib.luaL_newstate()
        lib.luaL_openlibs(self.state)

    def _finish(self, status):
        if status:
            text = self.lib.luaL_tolstring(self.state, -1, None).decode()
            self.lib.lua_settop(self.state, 0)
            raise RuntimeError(text)

    def run(self, chunk):
        self._finish(self.lib.luaL_loadstring(self.state, chunk.encode()))
        self._finish(self.lib.lua_pcallk(self.state, 0, 1, 0, 0, None))
        text = self.lib.luaL_tolstring(self.state, -1, None).decode()
        self.lib.lua_settop(self.state, 0)
        return text

    def function(self, chunk):
        """What a chunk that returns a function gives, to be called without arguments: two calls into liblua."""
        registry = -1001000
        self._finish(self.lib.luaL_loadstring(self.state, chunk.encode()))
        self._finish(self.lib.lua_pcallk(self.state, 0, 1, 0, 0, None))
        # Converted once: what a call costs here is in every sample of one launch.
        push, state = self.lib.lua_rawgeti, ctypes.c_void_p(self.state)
        where, ref = ctypes.c_int(registry), ctypes.c_longlong(self.lib.luaL_ref(self.state, registry))
        pcall, zero, none = self.lib.lua_pcallk, ctypes.c_int(0), ctypes.c_void_p(None)
        context = ctypes.c_long(0)

        def call():
            push(state, where, ref)
            status = pcall(state, zero, zero, zero, context, none)
            if status:
                self._finish(status)
        return call


DTYPES = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32", torch.float8_e4m3fn: "e4m3"}


def lua_tensor(t):
    """A launch argument that names torch's memory."""
    def ints(x):
        return "{" + ",".join(str(int(i)) for i in x) + "}"
    return f'{{ address = {t.data_ptr()}, shape = {ints(t.shape)}, stride = {ints(t.stride())}, dtype = "{DTYPES[t.dtype]}" }}'


class Weir:
    """One kernel of the library, bound to torch tensors."""

    def __init__(self, lua, tuned, pdl, config):
        self.lua, self.tuned, self.pdl, self.config, self.count = lua, tuned, pdl, config, 0
        build = os.environ.get("WEIR_BUILD") or os.path.join(ROOT, "build")
        lua.run(f'''
            package.path = "{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;{ROOT}/?.lua;" .. package.path
            package.cpath = "{build}/lua/?.so;" .. package.cpath
            weir, tune, dev = require "weir", require "weir.tune", require "weir".device(0)
            ready, bound = {{}}, {{}}''')

    def bind(self, module, options, args):
        """A function that launches n times, and the configuration as text."""
        self.count += 1
        values = ", ".join(f"{k} = {lua_tensor(v) if torch.is_tensor(v) else repr(float(v))}" for k, v in args.items())
        build = f'tune.build("{module}", o)' if self.tuned else f'require("{module}").build(o)'
        config = self.lua.run(f'''
            local o = {options}
            o.device, o.pdl, o.config = dev, {"nil" if self.pdl else "false"}, {self.config}
            ready[{self.count}] = {build}
            bound[{self.count}] = ready[{self.count}]:bind {{ {values} }}
            local keys, out = {{}}, {{}}
            for key in pairs(ready[{self.count}].config) do keys[#keys + 1] = key end
            table.sort(keys)
            for i, key in ipairs(keys) do out[i] = key .. "=" .. tostring(ready[{self.count}].config[key]) end
            return table.concat(out, " ")''')
        launch, me, device = {}, self.count, torch.cuda.current_device()

        def run(n=1):
            stream = torch._C._cuda_getCurrentRawStream(device)  # what current_stream() returns, without the object around it
            if stream not in launch:
                launch[stream] = self.lua.function(f"local b = bound[{me}] return function() assert(b:launch({stream})) end")
            go = launch[stream]
            for _ in range(n):
                go()
        return run, config

    def close(self):
        self.lua.run("for i, b in pairs(bound) do b:close() ready[i]:close() end ready, bound = {}, {} collectgarbage()")


# ---- measuring -----------------------------------------------------------------------------------------------------------------

def repeat(f):
    def run(n=1):
        for _ in range(n):
            f()
    return run


def sample(f, n):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    f(n)
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / n


def captured(f, n):
    """n launches as one CUDA graph."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f(n)
    return lambda _: graph.replay()


def alternate(contestants, reps, graph, apart):
    """Milliseconds per launch of each, taking turns; launches of a sample so that it lasts some 2 ms, or one (apart)."""
    n, run = {}, dict(contestants)
    for name, f in contestants.items():
        f(3)
        torch.cuda.synchronize()
        n[name] = 1 if apart else max(1, min(100, round(2.0 / max(1e-3, sample(f, 3)))))
        if graph:
            run[name] = captured(f, n[name])
            run[name](1)
    out = {name: [] for name in contestants}
    for _ in range(reps):
        for name, f in run.items():
            out[name].append(sample(f, n[name]))
    return out


def relative(got, want):
    return ((got.double() - want.double()).norm() / want.double().norm()).item()


class Results:
    def __init__(self, kernel, out, reps, graph, apart):
        self.kernel, self.out, self.reps, self.graph, self.apart, self.cases = kernel, out, reps, graph, apart, []

    def case(self, name, contestants, unit, amount, config, errors, most, copied=None):
        """unit: "TFLOP/s" or "TB/s"; amount: what one launch does, in flop or bytes; copied: bytes that the copy moves, if other.
        errors: relative, weir's first."""
        amounts = {k: copied if copied and k == "copy" else amount for k in contestants}
        ms = alternate(contestants, self.reps, self.graph, self.apart)
        mid = {k: statistics.median(v) for k, v in ms.items()}
        ratio = {k: statistics.median(b / a for a, b in zip(ms["weir"], v)) * amount / amounts[k] for k, v in ms.items() if k != "weir"}
        right = errors["weir"] <= most
        self.cases.append(dict(name=name, config=config, unit=unit, amount=amounts, ms=ms, ratio=ratio, errors=errors, most=most, right=right))
        rate = {k: amounts[k] / v / 1e9 for k, v in mid.items()}
        print(f'{self.kernel} {name}: ' + ", ".join(f'{k} {v:.1f}' if unit == "TFLOP/s" else f'{k} {v:.3f}' for k, v in rate.items())
              + f' {unit}; ' + ", ".join(f'x{v:.3f} {k}' for k, v in ratio.items())
              + f'; error {errors["weir"]:.1e}' + ("" if right else f" WRONG: at most {most:.0e}") + f'; {config}', flush=True)

    def write(self, setting):
        os.makedirs(self.out, exist_ok=True)
        with open(os.path.join(self.out, f"peers_{self.kernel}{'_graph' if self.graph else ''}{'_apart' if self.apart else ''}.json"), "w") as f:
            json.dump(dict(kind="peers", kernel=self.kernel, setting=setting, cases=self.cases), f, indent=1, sort_keys=True)
            f.write("\n")


def setting():
    def run(*command):
        try:
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return ""
    import triton
    query = run("nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader").split("\n")[0].split(", ")
    cublas = "unknown"
    for line in open("/proc/self/maps"):
        if "libcublas.so" in line:
            cublas = line.split()[-1]
            break
    return dict(device=torch.cuda.get_device_name(), driver=query[0], power_limit=query[-1], driver_api=torch.version.cuda, torch=torch.__version__,
                triton=triton.__version__, cudnn=str(torch.backends.cudnn.version()), cublas=torch.version.cuda, cublas_path=cublas,
                revision=os.environ.get("WEIR_REVISION") or run("git", "rev-parse", "HEAD") or "unknown",
                changed=not os.environ.get("WEIR_REVISION") and bool(run("git", "status", "--porcelain", "--untracked-files=no")),
                date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ"), host=" ".join(os.uname()[i] for i in (0, 2, 4)))


def randn(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


# ---- GEMM ----------------------------------------------------------------------------------------------------------------------

def gemm(weir, r, quick):
    sizes = [(8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (8192, 8192, 1024), (4096, 4096, 16384), (5000, 5016, 5016),
             (512, 8192, 8192), (64, 8192, 8192), (5120, 5120, 5120), (16, 8192, 8192), (128, 1024, 16384), (1000, 1000, 1000)]
    for m, n, k in sizes[:3] if quick else sizes:
        a, b = randn(m, k), randn(n, k)
        d, peer = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16), torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        run, config = weir.bind("weir.kernels.gemm", f"{{ m = {m}, n = {n}, k = {k} }}", dict(A=a, B=b, D=d))
        run()
        torch.matmul(a, b.t(), out=peer)
        rows = torch.arange(0, m, max(1, m // 64), device="cuda")
        want = a[rows].double() @ b.double().t()
        errors = dict(weir=relative(d[rows], want), cublas=relative(peer[rows], want), difference=relative(d, peer))
        r.case(f"{m} x {n} x {k}", dict(weir=run, cublas=repeat(lambda: torch.matmul(a, b.t(), out=peer))), "TFLOP/s", 2 * m * n * k, config,
               errors, 4e-3)
        weir.close()


def fp8(weir, r, quick):
    for m, n, k in [(8192, 8192, 8192)] if quick else [(8192, 8192, 8192), (4096, 4096, 4096), (8192, 28672, 8192), (64, 8192, 8192)]:
        a, b = randn(m, k, dtype=torch.float8_e4m3fn), randn(n, k, dtype=torch.float8_e4m3fn)
        one = torch.ones(1, device="cuda")
        for name, fast in (("fast", True), ("promoted", False)):
            d = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
            options = f'{{ dtype = "e4m3", m = {m}, n = {n}, k = {k}, scales = true, accumulate = "{name}" }}'
            run, config = weir.bind("weir.kernels.gemm", options, dict(A=a, B=b, D=d, scale_a=one, scale_b=one))

            def peer():
                return torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)
            run()
            got = peer()
            rows = torch.arange(0, m, max(1, m // 64), device="cuda")
            want = a[rows].double() @ b.double().t()
            errors = dict(weir=relative(d[rows], want), cublas=relative(got[rows], want))
            r.case(f"e4m3 {name} {m} x {n} x {k}", dict(weir=run, cublas=repeat(peer)), "TFLOP/s", 2 * m * n * k, config, errors, 2e-2 if fast else 4e-3)
            weir.close()


# ---- attention -------------------------------------------------------------------------------------------------------------------

def attention(weir, r, quick):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    shapes = [(1, 16, 16, 16384, 128), (1, 64, 64, 4096, 128), (1, 128, 128, 2048, 128), (2, 32, 8, 4096, 128), (1, 32, 32, 8192, 64), (1, 16, 16, 8192, 256),
              (4, 16, 16, 1000, 128)]
    for causal in (False, True):
        for bs, h, hk, length, d in shapes[:3] if quick else shapes:
            q, k, v = randn(bs, h, length, d), randn(bs, hk, length, d), randn(bs, hk, length, d)
            o = torch.full_like(q, float("nan"))
            options = f"{{ d = {d}, causal = {str(causal).lower()}, shape = {{ b = {bs}, h = {h}, hk = {hk}, lq = {length} }} }}"
            run, config = weir.bind("weir.kernels.attention", options, dict(Q=q, K=k, V=v, O=o))

            def peer():
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != hk)
            run()
            head, rows = h - 1, torch.arange(0, length, max(1, length // 256), device="cuda")   # one head, some rows, in f64
            kv = head // (h // hk)
            s = q[-1, head, rows].double() @ k[-1, kv].double().t() / math.sqrt(d)
            if causal:
                s = s.masked_fill(torch.arange(length, device="cuda")[None, :] > rows[:, None], float("-inf"))
            want = s.softmax(-1) @ v[-1, kv].double()
            errors = dict(weir=relative(o[-1, head, rows], want))
            peers = {}
            for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
                def with_backend(n=1, backend=backend):
                    with sdpa_kernel(backend):
                        for _ in range(n):
                            peer()
                try:
                    with sdpa_kernel(backend):
                        got = peer()
                    errors[name] = relative(got[-1, head, rows], want)
                    errors["difference_" + name] = relative(o, got)
                    peers[name] = with_backend
                except RuntimeError as e:
                    print(f"attention: {name} has none for this shape: {str(e).splitlines()[0]}")
            flop = 4 * bs * h * length * length * d / (2 if causal else 1)
            name = f"d {d}, {bs} x {h}{'' if h == hk else f' ({hk} for K, V)'} x {length}{', causal' if causal else ''}"
            r.case(name, dict(weir=run, **peers), "TFLOP/s", flop, config, errors, 1e-2)
            weir.close()


# ---- memory-bound ----------------------------------------------------------------------------------------------------------------

def triton_rows():
    """Row kernels as Triton's tutorials have them: one program a row, the row in one block."""
    import triton
    import triton.language as tl

    @triton.jit
    def rms(x, w, y, stride, n, eps, BLOCK: tl.constexpr):
        row, at = tl.program_id(0), tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + at, mask=at < n, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(v * v) / n + eps)
        tl.store(y + row * stride + at, (v * scale * tl.load(w + at, mask=at < n).to(tl.float32)).to(y.dtype.element_ty), mask=at < n)

    @triton.jit
    def layer(x, w, b, y, stride, n, eps, BLOCK: tl.constexpr):
        row, at = tl.program_id(0), tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + at, mask=at < n, other=0.0).to(tl.float32)
        mean = tl.sum(v) / n
        c = tl.where(at < n, v - mean, 0.0)
        scale = tl.rsqrt(tl.sum(c * c) / n + eps)
        out = c * scale * tl.load(w + at, mask=at < n).to(tl.float32) + tl.load(b + at, mask=at < n).to(tl.float32)
        tl.store(y + row * stride + at, out.to(y.dtype.element_ty), mask=at < n)

    @triton.jit
    def soft(x, y, stride, n, BLOCK: tl.constexpr):
        row, at = tl.program_id(0), tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + at, mask=at < n, other=-float("inf")).to(tl.float32)
        e = tl.exp(v - tl.max(v))
        tl.store(y + row * stride + at, (e / tl.sum(e)).to(y.dtype.element_ty), mask=at < n)

    @triton.jit
    def swiglu(x, g, y, count, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        a, b = tl.load(x + at, mask=at < count).to(tl.float32), tl.load(g + at, mask=at < count).to(tl.float32)
        tl.store(y + at, (a * b * tl.sigmoid(b)).to(y.dtype.element_ty), mask=at < count)

    return rms, layer, soft, swiglu


ROWS = [(16384, 8192), (16384, 4096), (65536, 1024), (4096, 16384)]


def rows_of(quick):
    import triton
    for m, n in ROWS[:1] if quick else ROWS:
        block = triton.next_power_of_2(n)
        x = randn(m, n)
        y, z = torch.full_like(x, float("nan")), torch.empty_like(x)
        yield m, n, block, min(32, max(4, block // 1024)), x, y, z


def rms_norm(weir, r, quick):
    kernel = triton_rows()[0]
    for m, n, block, warps, x, y, z in rows_of(quick):
        w = randn(n)
        run, config = weir.bind("weir.kernels.rms_norm", f"{{ n = {n}, m = {m} }}", dict(X=x, W=w, Y=y, eps=1e-6))

        def peer():
            kernel[(m,)](x, w, z, x.stride(0), n, 1e-6, BLOCK=block, num_warps=warps)
        run()
        peer()
        want = F.rms_norm(x.double(), (n,), w.double(), 1e-6)
        errors = dict(weir=relative(y, want), triton=relative(z, want))
        del want
        r.case(f"{m} x {n}", dict(weir=run, torch=repeat(lambda: F.rms_norm(x, (n,), w, 1e-6)), triton=repeat(peer), copy=repeat(lambda: z.copy_(x))),
               "TB/s", 4 * m * n, config, errors, 4e-3)
        s, res = torch.empty_like(x), randn(m, n)
        run, config = weir.bind("weir.kernels.rms_norm", f"{{ n = {n}, m = {m}, residual = true }}", dict(X=x, R=res, S=s, W=w, Y=y, eps=1e-6))

        def unfused():
            t = x + res
            return F.rms_norm(t, (n,), w, 1e-6)
        run()
        errors = dict(weir=relative(y, F.rms_norm((x + res).double(), (n,), w.double(), 1e-6)))
        r.case(f"residual, {m} x {n}", dict(weir=run, torch=repeat(unfused)), "TB/s", 8 * m * n, config, errors, 4e-3)
        weir.close()


def layer_norm(weir, r, quick):
    kernel = triton_rows()[1]
    for m, n, block, warps, x, y, z in rows_of(quick):
        w, b = randn(n), randn(n)
        run, config = weir.bind("weir.kernels.layer_norm", f"{{ n = {n}, m = {m} }}", dict(X=x, W=w, B=b, Y=y, eps=1e-5))

        def peer():
            kernel[(m,)](x, w, b, z, x.stride(0), n, 1e-5, BLOCK=block, num_warps=warps)
        run()
        peer()
        want = F.layer_norm(x.double(), (n,), w.double(), b.double(), 1e-5)
        errors = dict(weir=relative(y, want), triton=relative(z, want))
        del want
        r.case(f"{m} x {n}", dict(weir=run, torch=repeat(lambda: F.layer_norm(x, (n,), w, b, 1e-5)), triton=repeat(peer), copy=repeat(lambda: z.copy_(x))),
               "TB/s", 4 * m * n, config, errors, 4e-3)
        weir.close()


def softmax(weir, r, quick):
    kernel = triton_rows()[2]
    for m, n, block, warps, x, y, z in rows_of(quick):
        run, config = weir.bind("weir.kernels.softmax", f"{{ n = {n}, m = {m} }}", dict(X=x, Y=y))

        def peer():
            kernel[(m,)](x, z, x.stride(0), n, BLOCK=block, num_warps=warps)
        run()
        peer()
        want = x.double().softmax(-1)
        errors = dict(weir=relative(y, want), triton=relative(z, want))
        del want
        r.case(f"{m} x {n}", dict(weir=run, torch=repeat(lambda: torch.softmax(x, -1)), triton=repeat(peer), copy=repeat(lambda: z.copy_(x))),
               "TB/s", 4 * m * n, config, errors, 4e-3)
        weir.close()


def transpose(weir, r, quick):
    cases = [(16384, 8192, torch.bfloat16), (8192, 8192, torch.float32), (10000, 5000, torch.bfloat16)]
    for m, n, dtype in cases[:1] if quick else cases:
        x = randn(m, n, dtype=dtype)
        y, z = torch.full((n, m), float("nan"), device="cuda", dtype=dtype), torch.empty_like(x)
        run, config = weir.bind("weir.kernels.transpose", f'{{ dtype = "{DTYPES[dtype]}" }}', dict(X=x, Y=y))
        run()
        errors = dict(weir=0.0 if torch.equal(y, x.t()) else 1.0)
        r.case(f"{DTYPES[dtype]} {m} x {n}", dict(weir=run, torch=repeat(lambda: x.t().contiguous()), copy=repeat(lambda: z.copy_(x))), "TB/s",
               2 * x.element_size() * m * n, config, errors, 0.0)
        weir.close()


def swiglu(weir, r, quick):
    kernel = triton_rows()[3]
    for m, n in [(16384, 8192)] if quick else [(16384, 8192), (1, 1 << 26)]:
        x, g = randn(m, n), randn(m, n)
        y, z = torch.full_like(x, float("nan")), torch.empty_like(x)
        options = f'{{ n = {n}, inputs = {{ "x", "g" }}, outputs = {{ "y" }}, f = function(x, g) return x * g / (1 + weir.exp(-g)) end }}'
        run, config = weir.bind("weir.kernels.elementwise", options, dict(x=x, g=g, y=y))

        def peer():
            kernel[((m * n + 1023) // 1024,)](x, g, z, m * n, BLOCK=1024)
        run()
        peer()
        want = x.double() * F.silu(g.double())
        errors = dict(weir=relative(y, want), triton=relative(z, want))
        del want
        r.case(f"{m} x {n}", dict(weir=run, torch=repeat(lambda: x * F.silu(g)), triton=repeat(peer), copy=repeat(lambda: z.copy_(x))), "TB/s",
               6 * m * n, config, errors, 4e-3, copied=4 * m * n)
        weir.close()


KERNELS = dict(gemm=gemm, fp8=fp8, attention=attention, rms_norm=rms_norm, layer_norm=layer_norm, softmax=softmax, transpose=transpose, swiglu=swiglu)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("kernels", nargs="*", metavar="kernel", help=", ".join(KERNELS))
    p.add_argument("--reps", type=int, default=31, help="samples of each contestant")
    p.add_argument("--quick", action="store_true", help="the first shapes only")
    p.add_argument("--tuned", action="store_true", help="configurations from weir.tune's database")
    p.add_argument("--no-pdl", action="store_true", help="weir's launches do not overlap")
    p.add_argument("--graph", action="store_true", help="the launches of a sample are one CUDA graph")
    p.add_argument("--apart", action="store_true", help="one launch a sample, on an idle GPU (as proto/README.md measures)")
    p.add_argument("--config", default="nil", help="Lua table of configuration overrides, e.g. '{ stagger = 4 }'")
    p.add_argument("--out", default=os.path.join(ROOT, "bench", "results"))
    o = p.parse_args()
    for name in o.kernels:
        if name not in KERNELS:
            p.error(f"no kernel {name}; there are: {', '.join(KERNELS)}")
    torch.manual_seed(1)
    torch.cuda.init()
    torch.zeros(1, device="cuda")                        # the context that weir joins
    torch.cuda.set_stream(torch.cuda.Stream())           # launches on the default stream cannot be captured
    weir, wrong = Weir(Lua(), o.tuned, not o.no_pdl, o.config), 0
    for name in o.kernels or KERNELS:
        r = Results(name, o.out, o.reps, o.graph, o.apart)
        try:
            KERNELS[name](weir, r, o.quick)
        except (RuntimeError, torch.cuda.OutOfMemoryError) as e:
            print(f"{name}: stopped: {e}", file=sys.stderr)
            wrong += 1
        wrong += sum(not c["right"] for c in r.cases)
        if r.cases:
            r.write(dict(setting(), pdl=not o.no_pdl, graph=o.graph, apart=o.apart))
        torch.cuda.empty_cache()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
