import t from 'tap'
import { call } from '../../../fixtures/service/caller.js'
import { openService } from '../../../fixtures/service/service.js'
import { cseqOf } from '../../../fixtures/sip/sip-message.js'

/* An answered call whose ACK never arrives, for 64*T1 (RFC 3261 section 13.3.1.4). */

const service = await openService(t, { virtual: true })
t.jobs = 2

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`no ACK at all over ${transport}`, { buffered: true, timeout: 90_000 }, async (t) => {
    const caller = await call(t, service, { transport, autoAck: false })
    await caller.answered()
    const callId = await caller.callId()
    await caller.dialog.ended(50_000)
    t.equal(caller.dialog.endedBy, 'remote', 'a BYE')
    const accepted = caller.peer.log.filter(
      ({ message }) => message.status === 200 && cseqOf(message).method === 'INVITE',
    )
    // RFC 3261 13.3.1.4: first after T1, doubling up to T2. A connection loses nothing, so there it is not
    // repeated.
    const [fewest, most] = transport === 'udp' ? [9, 12] : [1, 1]
    t.ok(accepted.length >= fewest && accepted.length <= most, `the 200 came ${accepted.length} times`)
    const bye = caller.peer.log.find(({ message }) => message.method === 'BYE')
    const waited = (bye?.atMs ?? 0) - (accepted[0]?.atMs ?? 0)
    t.ok(waited > 31_000 && waited < 34_000, `BYE after ${waited} ms`)
    t.equal(caller.rtp.received.length, 0, 'no media without an ACK')
    t.match(await service.ended(callId), {
      disposition: 'failed',
      endedReason: 'carrier_error',
      answeredAt: null,
      billedPaise: 0,
    })
    t.equal(service.of(callId, 'ended').length, 1)
    t.equal(service.of(callId, 'answered').length, 0)
  })
}
