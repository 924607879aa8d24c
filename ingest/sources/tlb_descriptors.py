"""The one-byte TLB descriptors of CPUID leaf 2.

Level, type, page sizes, entries and ways (equal to the entries if fully associative,
None if not stated), from table 3-12 of the Intel 64 and IA-32 Architectures Software
Developer's Manual, volume 2A. A descriptor may name two arrays.
"""

_4K, _2M, _4M, _1G = 1 << 12, 1 << 21, 1 << 22, 1 << 30

LEAF_18 = 0xFE
Descriptor = tuple[int, str, tuple[int, ...], int, int | None]

DESCRIPTORS: dict[int, tuple[Descriptor, ...]] = {
    0x01: ((1, "instruction", (_4K,), 32, 4),),
    0x02: ((1, "instruction", (_4M,), 2, 2),),
    0x03: ((1, "data", (_4K,), 64, 4),),
    0x04: ((1, "data", (_4M,), 8, 4),),
    0x05: ((1, "data", (_4M,), 32, 4),),
    0x0B: ((1, "instruction", (_4M,), 4, 4),),
    0x4F: ((1, "instruction", (_4K,), 32, None),),
    0x50: ((1, "instruction", (_4K, _2M, _4M), 64, None),),
    0x51: ((1, "instruction", (_4K, _2M, _4M), 128, None),),
    0x52: ((1, "instruction", (_4K, _2M, _4M), 256, None),),
    0x55: ((1, "instruction", (_2M, _4M), 7, 7),),
    0x56: ((1, "data", (_4M,), 16, 4),),
    0x57: ((1, "data", (_4K,), 16, 4),),
    0x59: ((1, "data", (_4K,), 16, 16),),
    0x5A: ((1, "data", (_2M, _4M), 32, 4),),
    0x5B: ((1, "data", (_4K, _4M), 64, None),),
    0x5C: ((1, "data", (_4K, _4M), 128, None),),
    0x5D: ((1, "data", (_4K, _4M), 256, None),),
    0x61: ((1, "instruction", (_4K,), 48, 48),),
    0x63: ((1, "data", (_2M, _4M), 32, 4), (1, "data", (_1G,), 4, 4)),
    0x64: ((1, "data", (_4K,), 512, 4),),
    0x6A: ((1, "data", (_4K,), 64, 8),),
    0x6B: ((2, "data", (_4K,), 256, 8),),
    0x6C: ((2, "data", (_2M, _4M), 128, 8),),
    0x6D: ((2, "data", (_1G,), 16, 16),),
    0x76: ((1, "instruction", (_2M, _4M), 8, 8),),
    0xA0: ((1, "data", (_4K,), 32, 32),),
    0xB0: ((1, "instruction", (_4K,), 128, 4),),
    0xB1: ((1, "instruction", (_2M,), 8, 4), (1, "instruction", (_4M,), 4, 4)),
    0xB2: ((1, "instruction", (_4K,), 64, 4),),
    0xB3: ((1, "data", (_4K,), 128, 4),),
    0xB4: ((2, "data", (_4K,), 256, 4),),
    0xB5: ((1, "instruction", (_4K,), 64, 8),),
    0xB6: ((1, "instruction", (_4K,), 128, 8),),
    0xBA: ((2, "data", (_4K,), 64, 4),),
    0xC0: ((1, "data", (_4K, _4M), 8, 4),),
    0xC1: ((2, "unified", (_4K, _2M), 1024, 8),),
    0xC2: ((1, "data", (_4K, _2M), 16, 4),),
    0xC3: ((2, "unified", (_4K, _2M), 1536, 6), (2, "unified", (_1G,), 16, 4)),
    0xC4: ((1, "data", (_2M, _4M), 32, 4),),
    0xCA: ((2, "unified", (_4K,), 512, 4),),
}
