"""Register tiles written as LLVM vector code, for the kernels in ``compiled``; the cache's key hashes these files.

Open `emitter` first; `capability` says which vectors this processor has.
"""
