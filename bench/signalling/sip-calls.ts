import { fork } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../media/base/clock.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { isJudged } from '../lib/judged-time.js'
import { percentile } from '../lib/statistics.js'

/** Calls one after another, for the delays of an idle server. */
const IDLE_CALLS = 300
const IDLE_PER_SECOND = 25
const RATES = [50, 100, 200, 300, 400] as const
const STEP_MS = 3_000
/** Wait after a step for calls still in progress (ms). */
const SETTLE_MS = 700

const OFFER =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 9 RTP/AVP 8\r\n'

interface Call {
  readonly at: number
  tryingMs: number | null
  answeredMs: number | null
  /** 200 responses to the INVITE; more than one means retransmission. */
  answers: number
  over: boolean
}

/**
 * S_invite and S_cps: measures embedded server and application in a single-threaded process with calls over
 * UDP.
 */
export async function measureSipCalls(probe: Probe): Promise<Measured[]> {
  const child = fork(fileURLToPath(new URL('./sip-process.js', import.meta.url)))
  const socket = createSocket('udp4')
  try {
    const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const own = socket.address().port
    const calls = new Map<string, Call>()
    let counter = 0
    const send = (text: string) => socket.send(Buffer.from(text, 'latin1'), port, '127.0.0.1')
    const request = (id: string, method: string, cseq: number, to: string, body = '') =>
      [
        `${method} sip:+912200000001@127.0.0.1:${port} SIP/2.0`,
        `Via: SIP/2.0/UDP 127.0.0.1:${own};branch=z9hG4bK${id}${method}`,
        'Max-Forwards: 70',
        `From: <sip:+919812345678@127.0.0.1>;tag=f${id}`,
        `To: ${to}`,
        `Call-ID: ${id}`,
        `CSeq: ${cseq} ${method}`,
        `Contact: <sip:bench@127.0.0.1:${own}>`,
        ...(body === '' ? [] : ['Content-Type: application/sdp']),
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n')
    socket.on('message', (bytes) => {
      const text = bytes.toString('latin1')
      const id = /\r\nCall-ID: (\S+)/i.exec(text)?.[1] ?? ''
      const call = calls.get(id)
      if (call === undefined) return
      const status = text.slice(8, 11)
      const ms = systemClock.now() - call.at
      if (/\r\nCSeq: 2 BYE/i.test(text)) {
        call.over = status === '200'
        return
      }
      if (status === '100') call.tryingMs ??= ms
      if (status !== '200') return
      call.answeredMs ??= ms
      call.answers += 1
      const to = /\r\nTo: ([^\r]+)/i.exec(text)?.[1] ?? ''
      send(request(id, 'ACK', 1, to))
      if (call.answers === 1) send(request(id, 'BYE', 2, to))
    })
    const run = async (perSecond: number, count: number): Promise<Call[]> => {
      calls.clear()
      const began = performance.now()
      for (let n = 0; n < count; n++) {
        const wait = began + (n * 1000) / perSecond - performance.now()
        if (wait > 1) await sleep(wait)
        const id = `c${++counter}x`
        calls.set(id, { at: systemClock.now(), tryingMs: null, answeredMs: null, answers: 0, over: false })
        send(request(id, 'INVITE', 1, '<sip:+912200000001@127.0.0.1>', OFFER))
      }
      await sleep(SETTLE_MS)
      return [...calls.values()]
    }
    const usage = async () => {
      child.send('usage')
      const [answer] = (await once(child, 'message')) as [{ readonly cpuMs: number; readonly rssMb: number }]
      return answer
    }
    await run(100, 200) // Warms up the JIT compiler.
    await probe.begin()
    const idle = await run(IDLE_PER_SECOND, IDLE_CALLS)
    const { late } = await probe.judge()
    const judged = (at: number, ms: number | null) =>
      ms === null || !isJudged(late, at, at + ms) ? [] : [ms]
    const good = (call: Call) => call.over && call.answers === 1 && call.tryingMs !== null
    const trying = idle.flatMap(({ at, tryingMs }) => judged(at, tryingMs))
    const answered = idle.flatMap(({ at, answeredMs }) => judged(at, answeredMs))
    const steps: object[] = []
    let sustained = 0
    for (const rate of RATES) {
      const before = await usage()
      const step = await run(rate, (rate * STEP_MS) / 1000)
      const after = await usage()
      const failed = step.filter((call) => !good(call)).length
      const answers = step.flatMap(({ answeredMs }) => answeredMs ?? [])
      const cpuMsPerCall = round((after.cpuMs - before.cpuMs) / step.length)
      steps.push({
        rate,
        failed,
        answerP99: round(percentile(answers, 0.99)),
        cpuMsPerCall,
        rssMb: round(after.rssMb),
      })
      if (failed > 0) break
      sustained = rate
    }
    const values = (list: readonly number[]) => ({
      n: list.length,
      p50: round(percentile(list, 0.5)),
      p99: round(percentile(list, 0.99)),
    })
    const context = { calls: idle.length, failed: idle.filter((call) => !good(call)).length }
    return [
      figure('S_invite', values(trying), { ...context, until: '100' }),
      figure('S_answer', values(answered), { ...context, until: '200' }),
      figure('S_cps', { n: steps.length, value: sustained }, { steps }),
    ]
  } finally {
    socket.close()
    if (child.connected) child.disconnect()
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
