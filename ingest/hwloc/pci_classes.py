"""The purpose of a PCI device by its class code.

The codes are from PCI-SIG's "PCI Code and ID Assignment Specification".
"""

_CLASSES = {
    0x0100: "SCSI controller",
    0x0101: "IDE controller",
    0x0104: "RAID controller",
    0x0106: "SATA controller",
    0x0107: "SAS controller",
    0x0108: "NVM controller",
    0x0200: "Ethernet controller",
    0x0207: "InfiniBand controller",
    0x0208: "fabric controller",
    0x0280: "network controller",
    0x0300: "VGA controller",
    0x0302: "3D controller",
    0x0380: "display controller",
    0x0403: "audio device",
    0x0500: "RAM controller",
    0x0501: "flash controller",
    0x0502: "CXL memory",
    0x0580: "memory controller",
    0x0600: "host bridge",
    0x0601: "ISA bridge",
    0x0604: "PCI bridge",
    0x0609: "PCI bridge",
    0x0700: "serial controller",
    0x0806: "IOMMU",
    0x0C03: "USB controller",
    0x0C05: "SMBus controller",
    0x0C06: "InfiniBand controller",
    0x1000: "network encryption",
    0x1101: "performance counters",
    0x1200: "processing accelerator",
}
_BASES = {
    0x00: "unclassified device",
    0x01: "storage controller",
    0x02: "network controller",
    0x03: "display controller",
    0x04: "multimedia controller",
    0x05: "memory controller",
    0x06: "bridge",
    0x07: "communication controller",
    0x08: "system peripheral",
    0x09: "input device",
    0x0A: "docking station",
    0x0B: "processor",
    0x0C: "serial bus controller",
    0x0D: "wireless controller",
    0x0E: "intelligent controller",
    0x0F: "satellite controller",
    0x10: "encryption controller",
    0x11: "signal processing controller",
    0x12: "processing accelerator",
    0x13: "non-essential instrumentation",
    0x40: "coprocessor",
}
_DISPLAY, _ACCELERATOR, _VGA = 0x03, 0x12, 0x0300
_NVIDIA = "10de"


def class_name(code: int) -> str | None:
    """Name a 16-bit class; None if the standard has no name for it."""
    return _CLASSES.get(code) or _BASES.get(code >> 8)


def computes(code: int, vendor: str | None = None) -> bool:
    """Whether the class code and vendor id mean a GPU or another accelerator.

    A plain VGA controller only drives the board's display, unless NVIDIA makes it.
    """
    base = code >> 8
    if code == _VGA:
        return vendor == _NVIDIA
    return base in (_ACCELERATOR, _DISPLAY)
