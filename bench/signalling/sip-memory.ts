import { fork } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { figure, type Measured } from '../lib/figures.js'

/** Calls held when the memory is read; the difference of two levels excludes the program itself. */
const LEVELS = [1_000, 5_000] as const
const PER_SECOND = 400
/** T1 of the child process: transactions end 3.2 s after call setup instead of 32 s. */
const T1_MS = 50
const SETTLE_MS = 64 * T1_MS + 1_500

const OFFER =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 9 RTP/AVP 8\r\n'

interface Usage {
  readonly rssMb: number
  readonly heapMb: number
}

/**
 * S_memory: measures the memory of 1,000 established calls in the embedded server and its application, in one
 * process without media, after a garbage collection; UDP, transactions ended.
 */
export async function measureSipMemory(): Promise<Measured[]> {
  const child = fork(fileURLToPath(new URL('./sip-process.js', import.meta.url)), [String(T1_MS)], {
    execArgv: ['--expose-gc'],
  })
  const socket = createSocket('udp4')
  try {
    const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const own = socket.address().port
    const answered = new Set<string>()
    const send = (text: string) => socket.send(Buffer.from(text, 'latin1'), port, '127.0.0.1')
    const request = (id: string, method: string, to: string, body = '') =>
      [
        `${method} sip:+912200000001@127.0.0.1:${port} SIP/2.0`,
        `Via: SIP/2.0/UDP 127.0.0.1:${own};branch=z9hG4bK${id}${method}`,
        'Max-Forwards: 70',
        `From: <sip:+919812345678@127.0.0.1>;tag=f${id}`,
        `To: ${to}`,
        `Call-ID: ${id}@bench.example.net`,
        `CSeq: 1 ${method}`,
        `Contact: <sip:bench@127.0.0.1:${own}>`,
        ...(body === '' ? [] : ['Content-Type: application/sdp']),
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n')
    socket.on('message', (bytes) => {
      const text = bytes.toString('latin1')
      if (!text.startsWith('SIP/2.0 200')) return
      const id = /\r\nCall-ID: ([^@]+)/i.exec(text)?.[1] ?? ''
      answered.add(id)
      send(request(id, 'ACK', /\r\nTo: ([^\r]+)/i.exec(text)?.[1] ?? ''))
    })
    let placed = 0
    const upTo = async (count: number): Promise<Usage> => {
      while (placed < count) {
        const began = performance.now()
        for (let n = 0; n < PER_SECOND / 20 && placed < count; n++) {
          send(request(`m${++placed}x`, 'INVITE', '<sip:+912200000001@127.0.0.1>', OFFER))
        }
        await sleep(Math.max(0, 50 - (performance.now() - began)))
      }
      await sleep(SETTLE_MS)
      child.send('collect')
      const [usage] = (await once(child, 'message')) as [Usage]
      return usage
    }
    const low = await upTo(LEVELS[0])
    const held = answered.size
    const high = await upTo(LEVELS[1])
    const thousands = (answered.size - held) / 1000
    const value = round((high.heapMb - low.heapMb) / thousands)
    const context = {
      dialogs: answered.size,
      unanswered: placed - answered.size,
      rssMbPer1000: round((high.rssMb - low.rssMb) / thousands),
      heapMb: round(high.heapMb),
      rssMb: round(high.rssMb),
    }
    return [figure('S_memory', { n: answered.size, value }, context)]
  } finally {
    socket.close()
    if (child.connected) child.disconnect()
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
