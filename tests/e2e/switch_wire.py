# SPDX-License-Identifier: BSD-3-Clause
"""switch_wire.py - packets built and read by hand, independent of the C code, for tests of ports."""
import socket
import struct

PORT = 48880
DATA, RESULT, JOIN, STATUS, END, LEAVE, KEEPALIVE = range(1, 8)
ADD32, MAX8 = 1, 5
EMPTY = 0x10
FORMING, RUNNING = 2, 3
CAUSE_DUPLICATE_RANK, CAUSE_GONE = 9, 12


def header(kind_of, job=0, epoch=0, slot=0, round_=0, desc=0, wid=0, kind=0):
    return (bytes([1 << 4 | kind_of, kind]) + struct.pack('>H', job) + epoch.to_bytes(6, 'big') +
            struct.pack('>HIIH', slot, round_, desc, wid))


def join(name, wid, inc, base, world, port, p=256, slots=8, nr_ports=1):
    body = struct.pack('>Q', inc) + base.to_bytes(6, 'big')
    body += struct.pack('>HHHHHHH', 0, world, slots, p, port, nr_ports, 1)
    body += struct.pack('>HH', 0, world).ljust(12, b'\0') + name.encode().ljust(64, b'\0')
    return header(JOIN, wid=wid) + body.ljust(max(160, p), b'\0')


def data(job, epoch, slot, wid, values, round_=0):
    """Values None: a contribution without values."""
    if values is None:
        return header(DATA, job, epoch, slot, round_, 77, wid, ADD32 | EMPTY) + bytes(32)
    return header(DATA, job, epoch, slot, round_, 77, wid, ADD32) + struct.pack(f'>{len(values)}i', *values)


class Msg:
    def __init__(self, b):
        self.type, self.kind = b[0] & 15, b[1]
        self.job, = struct.unpack_from('>H', b, 2)
        self.epoch = int.from_bytes(b[4:10], 'big')
        self.slot, self.round = struct.unpack_from('>HI', b, 10)
        self.wid, = struct.unpack_from('>H', b, 20)
        self.body = b[22:]
        if self.type == STATUS:
            self.state, self.cause = b[22], b[23]
        if self.type == RESULT:
            self.values = list(struct.unpack(f'>{len(self.body) // 4}i', self.body))


def checksum(b):
    if len(b) % 2:
        b += b'\0'
    s = sum(struct.unpack(f'>{len(b) // 2}H', b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return s ^ 0xffff


def mac(text):
    return bytes.fromhex(text.replace(':', ''))


def udp_frame(dst, src, ip_src, ip_dst, sport, dport, payload):
    a, b = socket.inet_aton(ip_src), socket.inet_aton(ip_dst)
    udp = struct.pack('>HHHH', sport, dport, 8 + len(payload), 0) + payload
    udp = udp[:6] + struct.pack('>H', checksum(a + b + struct.pack('>HH', 17, len(udp)) + udp) or 0xffff) + udp[8:]
    ip = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + a + b
    ip = ip[:10] + struct.pack('>H', checksum(ip)) + ip[12:]
    return dst + src + b'\x08\0' + ip + udp


def arp_request(src, ip_src, ip_dst):
    return (b'\xff' * 6 + src + b'\x08\x06' + struct.pack('>HHBBH', 1, 0x800, 6, 4, 1) + src +
            socket.inet_aton(ip_src) + bytes(6) + socket.inet_aton(ip_dst)).ljust(60, b'\0')


def icmp_frame(dst, src, ip_src, ip_dst, seq, icmp):
    icmp = icmp[:2] + struct.pack('>H', checksum(icmp)) + icmp[4:]
    ip = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(icmp), seq, 0, 64, 1, 0)
    ip += socket.inet_aton(ip_src) + socket.inet_aton(ip_dst)
    ip = ip[:10] + struct.pack('>H', checksum(ip)) + ip[12:]
    return dst + src + b'\x08\0' + ip + icmp


def echo_request(dst, src, ip_src, ip_dst, seq):
    return icmp_frame(dst, src, ip_src, ip_dst, seq, struct.pack('>BBHHH', 8, 0, 0, 0x1234, seq) + bytes(range(56)))


def too_large(dst, src, ip_src, ip_dst, switch, port, mtu):
    """ICMP to a host: what it sent from the port to the switch does not fit the path."""
    quoted = struct.pack('>BBHHHBBH', 0x45, 0, 1458, 0, 0x4000, 64, 17, 0)
    quoted += socket.inet_aton(ip_dst) + socket.inet_aton(switch) + struct.pack('>HHHH', port, PORT, 1438, 0)
    return icmp_frame(dst, src, ip_src, ip_dst, 0, struct.pack('>BBHHH', 3, 4, 0, 0, mtu) + quoted)


def udp_checksum_ok(frame):
    ip = frame[14:34]
    length, = struct.unpack_from('>H', frame, 38)
    return checksum(ip) == 0 and checksum(ip[12:20] + struct.pack('>HH', 17, length) + frame[34:34 + length]) == 0


def pcap_write(path, frames):
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, frame in enumerate(frames):
            f.write(struct.pack('<IIII', 1, i, len(frame), len(frame)) + frame)


def pcap_read(path):
    b = open(path, 'rb').read()
    at, out = 24, []
    while at + 16 <= len(b):
        n, = struct.unpack_from('<I', b, at + 8)
        if at + 16 + n > len(b):
            break
        out.append(b[at + 16:at + 16 + n])
        at += 16 + n
    return out
