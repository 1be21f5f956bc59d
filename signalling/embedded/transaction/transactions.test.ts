import t from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import type { Essentials } from '../message/message-validation.js'
import { NO_BODY, type SipRequest, type SipResponse } from '../message/sip-message.js'
import type { Flow } from '../transport/transport.js'
import { type ClientHooks, ClientTransaction } from './client-transaction.js'
import { OkRetransmitter } from './ok-retransmitter.js'
import { ServerTransaction } from './server-transaction.js'
import { deriveTimers } from './timers.js'
import {
  type ClientInput,
  type ServerInput,
  stepClient,
  stepInviteClient,
  stepInviteServer,
  stepServer,
  type TransactionPhase,
  type TransactionTimer,
} from './transaction-machine.js'

const timers = deriveTimers()

/** A flow that records what is sent, and when. */
function fakeFlow(clock: VirtualClock, reliable: boolean) {
  const sent: { at: number; text: string }[] = []
  const watchers = new Set<() => void>()
  const state = { open: true }
  const flow = {
    protocol: reliable ? 'tcp' : 'udp',
    reliable,
    remote: { address: '192.0.2.1', port: 5060 },
    get open() {
      return state.open
    },
    send(bytes: Buffer) {
      if (state.open) sent.push({ at: clock.now(), text: bytes.toString() })
      return state.open
    },
    onBroken(broken: () => void) {
      watchers.add(broken)
      return () => watchers.delete(broken)
    },
  } as unknown as Flow
  const breakNow = () => {
    for (const watcher of [...watchers]) watcher()
  }
  return { flow, sent, state, watchers, breakNow }
}

function client(method: string, reliable = false) {
  const clock = new VirtualClock()
  const fake = fakeFlow(clock, reliable)
  const log: string[] = []
  const hooks: ClientHooks = {
    onResponse: (response) => log.push(`${response.status} at ${clock.now()}`),
    onFailure: (failure) => log.push(`${failure} at ${clock.now()}`),
    onEnd: () => log.push(`end at ${clock.now()}`),
  }
  const request: SipRequest = {
    kind: 'request',
    method,
    uri: 'sip:b@c',
    headers: [
      { name: 'Via', value: 'SIP/2.0/UDP a;branch=z9hG4bK1' },
      { name: 'From', value: '<sip:a@a>;tag=1' },
      { name: 'To', value: '<sip:b@c>' },
      { name: 'Call-ID', value: 'c' },
      { name: 'CSeq', value: `1 ${method}` },
      { name: 'Route', value: '<sip:r;lr>' },
    ],
    body: NO_BODY,
  }
  const transaction = new ClientTransaction(request, fake.flow, clock, timers, hooks)
  transaction.start()
  const respond = (status: number) => {
    const headers = [{ name: 'To', value: '<sip:b@c>;tag=9' }]
    const response: SipResponse = { kind: 'response', status, reason: 'x', headers, body: NO_BODY }
    transaction.receive(response, {} as Essentials, fake.flow)
  }
  return { ...fake, clock, log, transaction, respond, times: () => fake.sent.map((entry) => entry.at) }
}

t.test('INVITE client over UDP: timer A doubles, timer B ends it', async (t) => {
  const c = client('INVITE')
  c.clock.advance(40_000)
  t.same(c.times(), [0, 500, 1500, 3500, 7500, 15_500, 31_500])
  t.same(c.log, ['timeout at 32000', 'end at 32000'])
  t.equal(c.clock.pending, 0)
  t.equal(c.watchers.size, 0)
})

t.test('INVITE client over TCP: no retransmission', async (t) => {
  const c = client('INVITE', true)
  c.clock.advance(40_000)
  t.same(c.times(), [0])
  t.same(c.log, ['timeout at 32000', 'end at 32000'])
})

t.test('INVITE client: each provisional response stops retransmission and restarts timer C', async (t) => {
  const c = client('INVITE')
  c.respond(100)
  c.clock.advance(184_000)
  c.respond(180)
  c.clock.advance(184_999)
  t.same(c.times(), [0])
  t.same(c.log, ['100 at 0', '180 at 184000'])
  c.clock.advance(1)
  t.equal(c.log[2], 'timer C at 369000')
  t.ok(c.transaction.proceeding, 'it goes on until the CANCEL brings an end')
  c.respond(487)
  c.clock.advance(32_000)
  t.equal(c.clock.pending, 0)
})

t.test('INVITE client: every copy of a failure is acknowledged for 32 s', async (t) => {
  const c = client('INVITE')
  c.clock.advance(100)
  c.respond(486)
  c.clock.advance(1000)
  c.respond(486)
  t.equal(c.sent.length, 3)
  t.equal(
    c.sent[1]?.text,
    'ACK sip:b@c SIP/2.0\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\nRoute: <sip:r;lr>\r\nMax-Forwards: 70\r\n' +
      'From: <sip:a@a>;tag=1\r\nTo: <sip:b@c>;tag=9\r\nCall-ID: c\r\nCSeq: 1 ACK\r\nContent-Length: 0\r\n\r\n',
  )
  c.clock.advance(40_000)
  t.same(c.log, ['486 at 100', 'end at 32100'], 'passed once, timer D')
})

t.test(
  'INVITE client: 2xx are passed on for 64 T1 and not acknowledged by the transaction (RFC 6026)',
  async (t) => {
    const c = client('INVITE')
    c.respond(200)
    c.clock.advance(31_999)
    c.respond(200)
    c.clock.advance(1)
    t.same(c.log, ['200 at 0', '200 at 31999', 'end at 32000'])
    t.same(c.times(), [0])
  },
)

t.test('an unreachable peer is reported while calling and ignored later', async (t) => {
  const c = client('INVITE')
  c.breakNow()
  t.same(c.log, ['unreachable at 0', 'end at 0'])
  t.equal(c.clock.pending, 0)
  const d = client('INVITE')
  d.respond(180)
  d.breakNow()
  t.same(d.log, ['180 at 0'])
  const e = client('OPTIONS')
  e.state.open = false
  e.clock.advance(500)
  e.clock.advance(0)
  t.same(e.log, ['unreachable at 500', 'end at 500'], 'a send on a closed flow')
})

t.test(
  'non-INVITE client: timer E doubles to T2, timer F ends it, timer K absorbs retransmissions',
  async (t) => {
    const c = client('OPTIONS')
    c.clock.advance(40_000)
    t.same(c.times(), [0, 500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500])
    t.same(c.log, ['timeout at 32000', 'end at 32000'])

    const d = client('OPTIONS')
    d.respond(100)
    d.clock.advance(5000)
    t.same(d.times(), [0, 500, 4500], 'after a provisional every T2')
    d.respond(200)
    d.respond(200)
    d.clock.advance(5000)
    t.same(d.log, ['100 at 0', '200 at 5000', 'end at 10000'])

    const e = client('OPTIONS', true)
    e.respond(404)
    e.clock.advance(0)
    t.same(e.log, ['404 at 0', 'end at 0'])
  },
)

function server(invite: boolean, reliable = false) {
  const clock = new VirtualClock()
  const fake = fakeFlow(clock, reliable)
  const log: string[] = []
  const transaction = new ServerTransaction(invite, fake.flow, clock, timers, null, {
    onUnacknowledged: () => log.push(`unacknowledged at ${clock.now()}`),
    onEnd: () => log.push(`end at ${clock.now()}`),
  })
  const respond = (status: number) => transaction.respond(status, Buffer.from(String(status)))
  const texts = () => fake.sent.map((entry) => `${entry.text} at ${entry.at}`)
  return { ...fake, clock, log, transaction, respond, texts }
}

t.test('INVITE server: timer G retransmits a failure until the ACK, then timer I', async (t) => {
  const s = server(true)
  t.ok(s.respond(100))
  s.transaction.onRetransmission()
  t.ok(s.respond(486))
  s.clock.advance(3600)
  s.transaction.onAck()
  s.transaction.onAck()
  s.clock.advance(10_000)
  t.same(s.texts(), ['100 at 0', '100 at 0', '486 at 0', '486 at 500', '486 at 1500', '486 at 3500'])
  t.same(s.log, ['end at 8600'])
  t.notOk(s.respond(200), 'over')
})

t.test('INVITE server: without ACK timer H', async (t) => {
  const s = server(true)
  s.respond(500)
  s.clock.advance(33_000)
  t.same(s.log, ['unacknowledged at 32000', 'end at 32000'])
  t.same(s.sent.map((entry) => entry.at).slice(-2), [27_500, 31_500], 'at most every T2')
  const reliable = server(true, true)
  reliable.respond(500)
  reliable.clock.advance(33_000)
  t.equal(reliable.sent.length, 1)
})

t.test('INVITE server: after a 2xx retransmissions are absorbed, timer L ends it', async (t) => {
  const s = server(true)
  s.respond(200)
  t.ok(s.transaction.accepted)
  t.notOk(s.respond(486), 'no second final response')
  s.transaction.onRetransmission()
  s.clock.advance(32_000)
  t.same(s.texts(), ['200 at 0'])
  t.same(s.log, ['end at 32000'])
})

t.test('non-INVITE server: no response while trying, then the last response, timer J', async (t) => {
  const s = server(false)
  s.transaction.onRetransmission()
  t.equal(s.sent.length, 0)
  s.respond(200)
  s.clock.advance(31_999)
  s.transaction.onRetransmission()
  t.same(s.texts(), ['200 at 0', '200 at 31999'])
  s.clock.advance(1)
  t.same(s.log, ['end at 32000'])
  const closed = server(false)
  closed.state.open = false
  t.notOk(closed.respond(200), 'the connection is gone')
})

t.test('a 2xx is retransmitted from T1 to T2 until stopped', async (t) => {
  const clock = new VirtualClock()
  const { flow, sent } = fakeFlow(clock, false)
  const lost: number[] = []
  new OkRetransmitter(Buffer.from('200'), flow, clock, timers, () => lost.push(clock.now()))
  clock.advance(33_000)
  t.same(
    sent.map((entry) => entry.at),
    [500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500],
  )
  t.same(lost, [32_000])
  const answered = new OkRetransmitter(Buffer.from('200'), flow, clock, timers, () => lost.push(0))
  answered.stop()
  clock.advance(33_000)
  t.equal(sent.length, 10)
  t.equal(clock.pending, 0)
})

t.test('every state with every input: phases only move forward, terminated is final', async (t) => {
  const phases: TransactionPhase[] = [
    'calling',
    'trying',
    'proceeding',
    'completed',
    'confirmed',
    'accepted',
    'terminated',
  ]
  const names: TransactionTimer[] = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M']
  const ticks = names.map((timer) => ({ type: 'timer', timer }) as const)
  const clientInputs: ClientInput[] = [
    { type: 'provisional' },
    { type: 'success' },
    { type: 'failure' },
    { type: 'unreachable' },
    ...ticks,
  ]
  const serverInputs: ServerInput[] = [
    { type: 'request' },
    { type: 'provisional' },
    { type: 'success' },
    { type: 'failure' },
    { type: 'ack' },
    ...ticks,
  ]
  let seen = 0
  for (const reliable of [true, false]) {
    for (const phase of phases) {
      const state = { phase, interval: 500 }
      for (const input of clientInputs) {
        for (const step of [stepInviteClient, stepClient]) {
          const { next, effects } = step(state, input, timers, reliable)
          seen += 1
          if (phases.indexOf(next.phase) < phases.indexOf(phase))
            t.fail(`${phase} fell back to ${next.phase}`)
          if (phase === 'terminated' && effects.length > 0) t.fail('effects after the end')
        }
      }
      for (const input of serverInputs) {
        for (const step of [stepInviteServer, stepServer]) {
          const { next, effects } = step(state, input, timers, reliable)
          seen += 1
          if (phases.indexOf(next.phase) < phases.indexOf(phase))
            t.fail(`${phase} fell back to ${next.phase}`)
          if (phase === 'terminated' && effects.length > 0) t.fail('effects after the end')
        }
      }
    }
  }
  t.equal(seen, 2 * 7 * 2 * (17 + 18))
})
