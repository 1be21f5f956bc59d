import t from 'tap'
import { seeded } from '../../fixtures/host/random.js'
import type { Digit } from '../base/frame.js'
import { DtmfReceiver, DtmfSender } from './telephone-event.js'

function receiver() {
  const heard: [Digit, number][] = []
  const dtmf = new DtmfReceiver((digit, ms) => heard.push([digit, ms]))
  let now = 0
  let newest = 100
  return {
    heard,
    dtmf,
    /** A payload (hex) at a timestamp, `after` ms after the previous one, in the order of sending unless told otherwise. */
    packet: (
      hex: string,
      timestamp: number,
      after = 20,
      { sequence = newest + 1, marker = false, ssrc = 1 } = {},
    ) => {
      now += after
      newest = Math.max(newest, sequence)
      const data = Uint8Array.from(Buffer.from(`ffff${hex}`, 'hex'))
      const rtp = { payloadOffset: 2, payloadLength: data.length - 2, timestamp, sequence, marker, ssrc }
      return dtmf.packet(data, rtp, now)
    },
    /** Packets between two events: audio. */
    skip: (count: number) => {
      newest += count
    },
    beat: (after: number) => {
      now += after
      dtmf.tick(now)
    },
  }
}

t.test('a digit with three end packets is reported once, with its length', (t) => {
  const { heard, packet } = receiver()
  t.ok(packet('050a00a0', 1000))
  packet('050a0140', 1000)
  packet('050a01e0', 1000)
  packet('058a0280', 1000)
  packet('058a0280', 1000)
  packet('058a0280', 1000)
  t.strictSame(heard, [['5', 80]])
  t.end()
})

t.test('equal digits differ by their timestamp, whatever the marker bit is', (t) => {
  const { heard, packet } = receiver()
  for (const timestamp of [1000, 3000]) {
    packet('010a00a0', timestamp)
    packet('018a0320', timestamp)
  }
  t.strictSame(heard, [
    ['1', 100],
    ['1', 100],
  ])
  t.end()
})

t.test('all end packets lost: the next event, or silence, ends the digit', (t) => {
  const { heard, packet, beat } = receiver()
  packet('0a0a0140', 1000)
  packet('0b0a0140', 4000)
  t.strictSame(heard, [['*', 40]])
  beat(199)
  t.equal(heard.length, 1)
  beat(1)
  t.strictSame(heard[1], ['#', 40])
  packet('0b8a0280', 4000)
  t.equal(heard.length, 2, 'a late end packet of a told event')
  t.end()
})

t.test('only an end packet arrives', (t) => {
  const { heard, packet } = receiver()
  packet('0f8a0640', 0xffffff00)
  t.strictSame(heard, [['D', 200]])
  t.end()
})

t.test('events out of order, and over the wrap of the timestamp', (t) => {
  const { heard, packet } = receiver()
  packet('020a0140', 0xfffffff0, 20, { sequence: 102 })
  packet('020a00a0', 0xfffffff0, 20, { sequence: 101 })
  packet('028a0280', 0xfffffff0, 20, { sequence: 103 })
  packet('030a00a0', 0x100, 20, { sequence: 110 })
  packet('028a0280', 0xfffffff0, 20, { sequence: 105 })
  packet('038a0280', 0x100, 20, { sequence: 111 })
  t.strictSame(heard, [
    ['2', 80],
    ['3', 80],
  ])
  t.end()
})

t.test('events above 15 and short payloads are ignored', (t) => {
  const { heard, packet } = receiver()
  t.equal(packet('108a0280', 1000), false) // flash
  t.equal(packet('ff8a0280', 2000), false)
  t.equal(packet('018a02', 3000), false)
  t.equal(packet('', 4000), false)
  t.strictSame(heard, [])
  t.end()
})

t.test('a press longer than the duration field is one digit', (t) => {
  const { heard, packet } = receiver()
  packet('070affff', 1000)
  packet('070a00a0', 1000 + 0xffff)
  packet('078a0140', 1000 + 0xffff)
  t.strictSame(heard, [['7', Math.round((0xffff + 320) / 8)]])
  t.end()
})

t.test('a new stream may begin with lower timestamps', (t) => {
  const { heard, packet, dtmf } = receiver()
  packet('018a0280', 90000)
  dtmf.restart()
  packet('028a0280', 10)
  t.strictSame(
    heard.map(([digit]) => digit),
    ['1', '2'],
  )
  t.end()
})

t.test('a key that a new source repeats at once is one key', (t) => {
  // As Asterisk sends it when an extension holds the call right after the key.
  for (const how of ['another SSRC', 'other numbers'] as const) {
    const { heard, packet, dtmf } = receiver()
    let ssrc = 1
    const change = () => {
      if (how === 'another SSRC') ssrc++
      else dtmf.restart()
    }
    packet('010a00a0', 3451311450)
    packet('018a0320', 3451311450)
    change()
    packet('010a00a0', 312, 20, { ssrc })
    packet('018a0500', 312, 20, { ssrc })
    packet('018a0500', 312, 20, { ssrc })
    t.strictSame(heard, [['1', 100]], how)
    packet('018a0320', 2000, 60, { ssrc })
    t.equal(heard.length, 2, 'the next key of the same source counts')
    change()
    packet('018a0320', 10, 250, { ssrc })
    t.equal(heard.length, 3, 'and a key that is pressed later')
  }
  t.end()
})

t.test('end packets whose timestamp moves are one key', (t) => {
  for (const duration of ['0280', '0140']) {
    const { heard, packet, skip } = receiver()
    packet('050a00a0', 1000)
    packet(`058a${duration}`, 1000)
    packet(`058a${duration}`, 1160)
    packet(`058a${duration}`, 1320)
    t.strictSame(heard, [['5', duration === '0280' ? 80 : 40]])
    skip(4)
    packet(`058a${duration}`, 1320 + 640, 100)
    t.equal(heard.length, 2, 'only the end of the next key arrives')
  }
  t.end()
})

t.test('a timestamp that moves with each packet is one key', (t) => {
  for (const grows of [true, false]) {
    const { heard, packet, skip } = receiver()
    for (const start of [1000, 5000]) {
      for (let i = 0; i < 8; i++) {
        const duration = (grows ? 160 * (i + 1) : 160).toString(16).padStart(4, '0')
        if (i === 3) skip(1)
        if (i === 3) continue
        packet(`07${i < 6 ? '0a' : '8a'}${duration}`, start + 160 * i, i === 4 ? 40 : 20, { marker: i === 0 })
      }
      skip(10)
    }
    t.strictSame(
      heard.map(([digit]) => digit),
      ['7', '7'],
    )
    t.ok(heard.every(([, ms]) => ms >= 80 && ms <= 160))
  }
  t.end()
})

t.test('a key that uses the timestamp of the last one is not lost', (t) => {
  const { heard, packet, skip } = receiver()
  for (const event of ['03', '03', '04']) {
    packet(`${event}0a00a0`, 1000, 100)
    packet(`${event}0a0140`, 1000)
    for (let copy = 0; copy < 3; copy++) packet(`${event}8a0280`, 1000)
    skip(5)
  }
  t.strictSame(
    heard.map(([digit]) => digit),
    ['3', '3', '4'],
  )
  packet('048a0280', 1000, 600)
  t.equal(heard.length, 4, 'also when only its end arrives')
  t.end()
})

t.test('a key that is held through a silence of the network is told once', (t) => {
  const { heard, packet, beat } = receiver()
  packet('060a00a0', 1000)
  beat(200)
  t.strictSame(heard, [['6', 20]])
  packet('060a0780', 1000, 40)
  packet('068a0820', 1000)
  t.equal(heard.length, 1)
  t.end()
})

t.test('packets of a sent digit', (t) => {
  const sender = new DtmfSender()
  t.equal(sender.next(), null)
  t.ok(sender.press(['9', '#']))
  const sent: (string | null)[] = []
  for (let i = 0; i < 33; i++) {
    const beat = sender.next()
    sent.push(beat === null ? null : `${beat.marker ? 'M' : '-'}${Buffer.from(beat.payload).toString('hex')}`)
  }
  t.strictSame(sent.slice(0, 16), [
    'M090a00a0',
    '-090a0140',
    '-090a01e0',
    '-090a0280',
    '-090a0320',
    '-090a03c0',
    '-090a0460',
    '-090a0500',
    '-098a0500',
    '-098a0500',
    '-098a0500',
    null,
    null,
    null,
    null,
    null,
  ])
  t.equal(sent[16], 'M0b0a00a0')
  t.equal(sent[32], null)
  t.equal(sender.busy, false)
  t.end()
})

t.test('each digit has the requested length', (t) => {
  const sender = new DtmfSender()
  t.ok(sender.press(['1'], { toneMs: 40, gapMs: 60 }))
  t.ok(sender.press(['2'], { toneMs: 1000, gapMs: 2000 }))
  t.ok(sender.press(['3']))
  const sent: string[] = []
  while (sender.busy) {
    const beat = sender.next(48_000)
    sent.push(beat === null ? '' : `${beat.marker ? 'M' : '-'}${Buffer.from(beat.payload).toString('hex')}`)
  }
  t.strictSame(sent.slice(0, 5), ['M010a03c0', '-010a0780', '-018a0780', '-018a0780', '-018a0780'])
  const second = sent.slice(5, 155)
  t.equal(second[0], 'M020a03c0')
  t.strictSame(second.slice(49, 54), ['-020abb80', '-028abb80', '-028abb80', '-028abb80', ''])
  t.ok(second.slice(53).every((beat) => beat === ''))
  t.equal(sent[155], 'M030a03c0', 'and the next as usual')
  t.equal(sent.length, 155 + 16)
  t.end()
})

t.test('a sequence with too many digits is rejected as a whole', (t) => {
  const sender = new DtmfSender()
  t.ok(sender.press(Array.from({ length: 60 }, () => '1' as const)))
  t.equal(sender.press(['1', '2', '3', '4', '5']), false)
  t.ok(sender.press(['1', '2', '3', '4']))
  t.end()
})

t.test('sent digits survive 30 % loss, reordering and duplication', (t) => {
  const random = seeded(11)
  const digits: Digit[] = ['1', '2', '2', '3', '*', '0', '#', 'A', 'A']
  for (let round = 0; round < 200; round++) {
    const sender = new DtmfSender()
    sender.press(digits)
    const packets: { at: number; timestamp: number; sequence: number; payload: Uint8Array }[] = []
    let timestamp = 0
    for (let frame = 0; sender.busy; frame++) {
      const beat = sender.next()
      if (beat === null) continue
      if (beat.marker) timestamp = (0xfffff000 + frame * 160) >>> 0
      for (let copy = 0; copy < (random.next() < 0.1 ? 2 : 1); copy++) {
        if (random.next() < 0.3) continue
        packets.push({
          at: frame * 20 + random.next() * 45,
          timestamp,
          // Audio between the keys has numbers too; they wrap around.
          sequence: (65_500 + frame) & 0xffff,
          payload: beat.payload.slice(),
        })
      }
    }
    packets.sort((a, b) => a.at - b.at)
    const heard: Digit[] = []
    const dtmf = new DtmfReceiver((digit) => heard.push(digit))
    for (const packet of packets) {
      dtmf.tick(packet.at)
      const rtp = { ...packet, payloadOffset: 0, payloadLength: 4, marker: false, ssrc: 1 }
      dtmf.packet(packet.payload, rtp, packet.at)
    }
    dtmf.tick(1e9)
    if (heard.join('') !== digits.join('')) throw new Error(`round ${round}: heard ${heard.join('')}`)
  }
  t.pass('200 rounds')
  t.end()
})
