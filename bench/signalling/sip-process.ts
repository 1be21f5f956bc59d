import { OPEN_GATE } from '../../fixtures/sip/open-gate.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import { openEmbeddedServer } from '../../signalling/embedded/server.js'
import { openSipServer } from '../../signalling/sip/sip-server.js'

/*
 * The SIP side of the service alone in a process of its own: embedded server and application on one thread;
 * every call is answered at once. Sends its port, and on request its CPU time and memory; on `collect` after
 * a garbage collection. The first argument is T1 in milliseconds (default 500).
 */

const ANSWER =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 9 RTP/AVP 8\r\n'
const HANDLERS = {
  acknowledged() {},
  offered: (_body: string, reply: (status: 500, sdp: string) => void) => reply(500, ''),
  ended() {},
}

const T1 = Number(process.argv[2] ?? '500')
const secret = 'bench'
const server = await openEmbeddedServer({
  listen: [{ transport: 'udp', address: '127.0.0.1', port: 0 }],
  control: { address: '127.0.0.1', port: 0, secret },
  timers: { T1, T2: 8 * T1, T4: 10 * T1 },
})
const sip = await openSipServer({
  gate: OPEN_GATE,
  host: '127.0.0.1',
  port: server.controlPort,
  secret,
  clock: systemClock,
  log: silentLog,
})
sip.onInvite((invite) => {
  // A call cancelled meanwhile shows as unanswered at the other end.
  invite.accept(ANSWER, HANDLERS).catch(() => {})
})
process.on('message', (what) => {
  if (what === 'collect') globalThis.gc?.()
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send?.({
    cpuMs: (user + system) / 1000,
    rssMb: rss / 1e6,
    heapMb: (heapUsed + external) / 1e6,
  })
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port: server.endpoints[0]?.port ?? 0 })
