import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, type RigOptions, testAgent } from '../../fixtures/rigs/signalling-rig.js'
import type { SipDialog } from '../../fixtures/sip/sip-dialog.js'
import { openSipPeer } from '../../fixtures/sip/sip-peer.js'
import { type SippOptions, startSipp } from '../../fixtures/sip/sipp.js'
import type { Permit } from '../sip/dial-gate.js'
import type { OutboundCallSpec } from './ports.js'

assertNothingLeft(t)

type Assert = Pick<typeof t, 'teardown'>

async function rigFor(t: Assert, options: RigOptions = {}) {
  const rig = await openSignallingRig(options)
  t.teardown(() => rig.close())
  const plan = (port: number, transport: 'udp' | 'tcp' = 'udp'): OutboundCallSpec => ({
    party: { kind: 'agent', agent: testAgent },
    gateway: { host: '127.0.0.1', port, transport, codecs: ['PCMA', 'PCMU'] },
    ringTimeoutMs: 5000,
    recordTo: null,
  })
  return {
    ...rig,
    plan,
    async dial(options: SippOptions) {
      const sipp = await startSipp(options)
      t.teardown(() => sipp.stop())
      rig.callManager.dial(rig.permit('call_out', '+919800000001'), plan(sipp.port, options.transport))
      return sipp
    },
  }
}

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`${transport}: early media is not an answer; the callee hangs up`, async (t) => {
    const rig = await rigFor(t)
    const sipp = await rig.dial({ scenario: 'answer-bye', transport })
    await until(() => rig.types().includes('ringing'))
    t.notOk(rig.pool.only().started)
    await sipp.done
    t.strictSame((await rig.ended()).ending, { by: 'callee', cause: 'caller_hangup', fault: 'none' })
    t.strictSame(rig.types(), ['dialing', 'ringing', 'answered', 'ended'])
    t.match(rig.events[1], { sip: 183 })
    t.match(rig.pool.only(), { started: true, closed: 'hangup' })
    t.match(rig.pool.only().remotes, [{ codec: 'PCMA', payloadType: 8, dtmfPayloadType: 101 }])
  })

  t.test(`${transport}: the agent hangs up`, async (t) => {
    const rig = await rigFor(t)
    rig.pool.onStart = (session) => session.say({ type: 'finished', why: 'silence' })
    const sipp = await rig.dial({ scenario: 'answer-byed', transport })
    await sipp.done
    t.strictSame((await rig.ended()).ending, { by: 'agent', cause: 'silence', fault: 'none' })
  })

  t.test(`${transport}: cancelled while it rings`, async (t) => {
    const rig = await rigFor(t)
    const sipp = await rig.dial({ scenario: 'answer-cancelled', transport })
    await until(() => rig.types().includes('ringing'))
    t.ok(rig.callManager.hangUp('call_out', 'operator'))
    await sipp.done
    t.strictSame((await rig.ended()).ending, { by: 'operator', cause: 'api_hangup', fault: 'none' })
    t.notOk(rig.pool.only().started)
  })
}

t.test('refusals', async (t) => {
  const cases: readonly [number, string, string][] = [
    [486, 'busy', 'none'],
    [600, 'busy', 'none'],
    [480, 'no_answer', 'none'],
    [408, 'no_answer', 'none'],
    [603, 'rejected', 'none'],
    [503, 'carrier_error', 'carrier'],
    [500, 'carrier_error', 'carrier'],
    [404, 'carrier_error', 'customer'],
    [302, 'carrier_error', 'carrier'],
    [407, 'carrier_error', 'carrier'],
  ]
  for (const [status, cause, fault] of cases) {
    await t.test(`${status} is ${cause}`, async (t) => {
      const rig = await rigFor(t)
      const sipp = await rig.dial({ scenario: 'answer-refuse', replace: { STATUS: String(status) } })
      t.match((await rig.ended()).ending, { cause, fault, sip: status })
      await sipp.done
      t.strictSame(rig.types(), ['dialing', 'ended'])
      t.equal(rig.pool.live.length, 0)
    })
  }
})

t.test('an unusable SDP answer is acknowledged and ended', async (t) => {
  const rig = await rigFor(t)
  const sipp = await rig.dial({ scenario: 'answer-unusable' })
  await sipp.done
  t.match((await rig.ended()).ending, { cause: 'carrier_error', fault: 'carrier', sip: 488 })
  t.notOk(rig.pool.only().started)
})

t.test('no answer: CANCEL at the ring timeout', async (t) => {
  const rig = await rigFor(t)
  const sipp = await startSipp({ scenario: 'answer-cancelled' })
  t.teardown(() => sipp.stop())
  rig.callManager.dial(rig.permit('call_out', '+919800000001'), {
    ...rig.plan(sipp.port),
    ringTimeoutMs: 400,
  })
  await sipp.done
  t.match((await rig.ended()).ending, { by: 'engine', cause: 'no_answer', fault: 'none' })
})

t.test('the destination does not respond', async (t) => {
  const rig = await rigFor(t, { timers: { T1: 20, T2: 160, T4: 200 } })
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  rig.callManager.dial(rig.permit('call_out', '+919800000001'), rig.plan(socket.address().port))
  t.strictSame(
    (await rig.ended()).ending,
    { by: 'callee', cause: 'no_answer', fault: 'none', sip: 408 },
    'a host that says nothing',
  )

  rig.events.length = 0
  rig.callManager.dial(rig.permit('call_2', '+919800000001'), rig.plan(1, 'tcp'))
  t.match((await rig.ended()).ending, { cause: 'carrier_error', sip: 503 }, 'a port that is closed')
})

t.test('CANCEL crosses the 200: acknowledged, then a BYE', async (t) => {
  const rig = await rigFor(t)
  const callee = createSocket('udp4').bind(0, '127.0.0.1')
  await once(callee, 'listening')
  t.teardown(() => callee.close())
  const seen: string[] = []
  let invite = ''
  const answer = (request: string, status: string, body = '') => {
    const headers = request
      .split('\r\n')
      .filter((line) => /^(via|from|call-id|cseq|record-route):/i.test(line))
      .join('\r\n')
    const to = /^to:(.*)$/im.exec(request)?.[1]?.trim() ?? ''
    const tagged = to.includes('tag=') ? to : `${to};tag=callee`
    const contact = `<sip:callee@127.0.0.1:${callee.address().port}>`
    const type = body ? 'Content-Type: application/sdp\r\n' : ''
    callee.send(
      `SIP/2.0 ${status}\r\n${headers}\r\nTo: ${tagged}\r\nContact: ${contact}\r\n${type}Content-Length: ${body.length}\r\n\r\n${body}`,
      rig.udp,
      '127.0.0.1',
    )
  }
  callee.on('message', (data) => {
    const text = data.toString()
    const method = text.slice(0, text.indexOf(' '))
    if (seen.at(-1) !== method) seen.push(method)
    if (method === 'INVITE' && invite === '') {
      invite = text
      answer(text, '180 Ringing')
    }
    if (method === 'CANCEL') {
      answer(text, '200 OK')
      answer(
        invite,
        '200 OK',
        'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8\r\n',
      )
    }
    if (method === 'BYE') answer(text, '200 OK')
  })
  rig.callManager.dial(rig.permit('call_out', '+919800000001'), rig.plan(callee.address().port))
  await until(() => rig.types().includes('ringing'))
  rig.callManager.hangUp('call_out', 'operator')
  t.match((await rig.ended()).ending, { cause: 'api_hangup' })
  await until(() => seen.includes('BYE'))
  t.strictSame(seen, ['INVITE', 'CANCEL', 'ACK', 'BYE'])
  t.notOk(rig.pool.only().started, 'never live')
})

t.test('no permit, no dial', async (t) => {
  const rig = await rigFor(t)
  const forged = {
    recordId: 'evd_1',
    callId: 'call_x',
    to: '+919800000001',
    from: '+91',
    expiresAt: Infinity,
  } as Permit
  t.throws(() => rig.callManager.dial(forged, rig.plan(9)), { code: 'permit_invalid' })
  const permit = rig.permit('call_out', '+919800000001')
  rig.callManager.dial(permit, rig.plan(1, 'tcp'))
  t.throws(() => rig.callManager.dial(permit, rig.plan(9)), { code: 'permit_invalid' }, 'spent')
  await rig.ended()
  await rig.callManager.drain(0)
  const late = rig.permit('call_late', '+919800000001')
  t.throws(() => rig.callManager.dial(late, rig.plan(9)), { code: 'closed' })
})

t.test('a late offer that follows another re-INVITE at once: its ACK has the answer', async (t) => {
  const sdp = (direction: string) =>
    [
      ...['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'],
      ...['m=audio 4000 RTP/AVP 8', `a=${direction}`, ''],
    ].join('\r\n')
  const rig = await rigFor(t)
  const calls: SipDialog[] = []
  const peer = await openSipPeer({
    onInvite: (dialog) => {
      calls.push(dialog)
      dialog.answer(sdp('sendrecv'))
    },
  })
  t.teardown(() => peer.close())
  rig.callManager.dial(rig.permit('call_out', '+919800000001'), rig.plan(peer.port))
  await until(() => rig.types().includes('answered'))
  const held = () => rig.events.flatMap((event) => (event.type === 'held' ? [event.on] : []))
  const [dialog] = calls as [SipDialog]
  await dialog.confirmed()
  dialog.reinvite(sdp('sendonly'))
  t.equal(await dialog.final(), 200)
  dialog.ackSdp = sdp('sendrecv')
  dialog.reinvite(null)
  t.equal(await dialog.final(), 200)
  await until(() => held().length === 2)
  t.strictSame(held(), [true, false])
  dialog.bye()
  await rig.ended()
})
