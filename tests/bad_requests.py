"""Contents of a `request.json` that is not the request of a run."""

_DEEP = 200_000
_ARGV = b'{"argv": ["true"], '

BAD_REQUESTS = [
    *(b"", b"{", b"[]", b"null", b"{}", b"\xff"),
    *(b"[" * _DEEP, b'{"argv":' * _DEEP, _ARGV + b'"cpus": ' + b"[" * _DEEP),
    *(b'{"argv": []}', b'{"argv": "true"}', b'{"argv": ["true", 1]}'),
    *(b'{"argv": ["\\ud800"]}', _ARGV + b'"env": {"A": "\\ud800"}}'),
    *(_ARGV + b'"timeout": NaN}', _ARGV + b'"more": Infinity}'),
    *(_ARGV + b'"timeout": ' + b"9" * 5000 + b"}", _ARGV + b'"cpus": [4294967296]}'),
    *(_ARGV + b'"env": []}', _ARGV + b'"env": {"A": 1}}', _ARGV + b'"env": null}'),
    *(_ARGV + b'"private": "A"}', _ARGV + b'"private": [1]}'),
    *(_ARGV + b'"private": [[]]}', _ARGV + b'"private": {"A": 1}}'),
]
