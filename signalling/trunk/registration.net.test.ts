import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { until } from '../../fixtures/host/until.js'
import { openSignallingRig, PATIENT } from '../../fixtures/rigs/signalling-rig.js'
import { DigestGuard, type DigestGuardOptions } from '../../fixtures/sip/sip-guard.js'
import { cseqOf, header, type SipMessage, token } from '../../fixtures/sip/sip-message.js'
import { openSipPeer, type SipPeer } from '../../fixtures/sip/sip-peer.js'
import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { OutOfDialogRequest, OutOfDialogResponse, SipServer } from '../sip/sip-port.js'
import { Registration, type RegistrationTarget, readRegistrarResponse } from './registration.js'
import { type RegistrationInput, type RegistrationState, step } from './registration-machine.js'
import { probeTrunk } from './trunk-probe.js'
import { TrunkRegistrations } from './trunk-registrations.js'

assertNothingLeft(t)

const rules = { expires: 600, random: () => 0.5 }
const answer = (
  status: number,
  more: Partial<Record<'expires' | 'minExpires' | 'retryAfter', number>> = {},
) =>
  ({
    type: 'answered',
    response: { status, expires: null, minExpires: null, retryAfter: null, ...more },
  }) as const

t.test('every state and every input', async (t) => {
  const states: readonly RegistrationState[] = [
    { kind: 'idle' },
    { kind: 'registering', expires: 600, failures: 0, bound: false },
    { kind: 'registered', expires: 600 },
    { kind: 'waiting', expires: 600, failures: 3 },
    { kind: 'unregistering' },
    { kind: 'over' },
  ]
  const inputs: readonly RegistrationInput[] = [
    { type: 'start' },
    answer(200, { expires: 300 }),
    { type: 'failed' },
    { type: 'timer' },
    { type: 'renew' },
    { type: 'stop' },
  ]
  const rows = states.map((state) => [
    state.kind,
    ...inputs.map((input) => {
      const { next, effects } = step(state, input, rules)
      return `${next === state ? '-' : next.kind}${effects.map((effect) => ` ${effect.type}`).join('')}`
    }),
  ])
  const out = 'registering cancelTimer send'
  t.strictSame(rows, [
    ['idle', out, '-', '-', '-', '-', 'over cancelTimer finish'],
    [
      'registering',
      '-',
      'registered report startTimer',
      'waiting report startTimer',
      '-',
      '-',
      'unregistering cancelTimer send',
    ],
    ['registered', '-', '-', '-', out, out, 'unregistering cancelTimer send'],
    ['waiting', '-', '-', '-', out, out, 'over cancelTimer finish'],
    ['unregistering', '-', 'over finish', 'over finish', '-', '-', '-'],
    ['over', '-', '-', '-', '-', '-', '-'],
  ])
})

t.test('times', async (t) => {
  const registering = { kind: 'registering', expires: 600, failures: 0, bound: false } as const
  const timer = (state: RegistrationState, input: RegistrationInput) =>
    step(state, input, rules).effects.flatMap((effect) =>
      effect.type === 'startTimer' ? [effect.ms] : [],
    )[0]
  t.equal(timer(registering, answer(200, { expires: 600 })), 510_000, 'refreshed at 85 %')
  t.equal(timer(registering, answer(200, { expires: 60 })), 51_000)
  t.equal(timer(registering, answer(200, { expires: 20 })), 15_000, 'never with less than 5 s left')
  t.equal(timer(registering, answer(200, { expires: 2 })), 10_000, 'nor more often than every 10 s')
  t.equal(timer(registering, answer(200)), 510_000, 'a registrar that says nothing granted what we asked for')
  const waits = Array.from({ length: 12 }, (_, failures) =>
    timer({ ...registering, failures }, { type: 'failed' }),
  )
  t.strictSame(waits.slice(0, 4), [3750, 7500, 15_000, 30_000])
  t.equal(waits.at(-1), 450_000, 'bounded')
  t.equal(timer(registering, answer(503, { retryAfter: 90 })), 90_000)
  t.equal(timer(registering, answer(403)), 120_000, 'a refused account is not hammered')
  const brief = step(registering, answer(423, { minExpires: 1800 }), rules)
  t.match(brief, {
    next: { kind: 'registering', expires: 1800 },
    effects: [{}, { type: 'send', expires: 1800 }],
  })
  t.match(step({ ...registering, expires: 1800 }, answer(423, { minExpires: 1800 }), rules).next, {
    kind: 'waiting',
  })
  t.match(
    step(registering, answer(200, { expires: 0 }), rules).next,
    { kind: 'waiting' },
    'no binding in the answer',
  )
})

t.test('responses of registrars', async (t) => {
  const read = (headers: Record<string, string>) =>
    readRegistrarResponse({ status: 200, header: (name) => headers[name] ?? null }, '+91')
  t.match(read({ Contact: '<sip:%2B91@10.0.0.1>;expires=300', Expires: '900' }), { expires: 300 })
  t.match(
    read({ Contact: '<sip:%2B91@10.0.0.9:5061>;expires=12,"x" <sip:%2B91@10.0.0.1>;q=0.1;expires=300' }),
    { expires: 300 },
  )
  t.match(read({ Contact: '<sip:other@10.0.0.1>;expires=300', Expires: '900' }), { expires: 900 })
  const shown = '"<sip:+91@10.0.0.9>;expires=7" <sip:other@10.0.0.1>;expires=300'
  t.match(read({ Contact: shown, Expires: '900' }), { expires: 900 }, 'a display name is no binding')
  t.match(read({ 'Retry-After': '30 (busy)', 'Min-Expires': 'x' }), {
    retryAfter: 30,
    minExpires: null,
    expires: null,
  })
})

/** Opens a carrier that accepts registrations. */
async function openCarrier(options: DigestGuardOptions & { transport?: 'udp' | 'tcp'; expires?: number }) {
  const guard = new DigestGuard(options)
  const requests: SipMessage[] = []
  let refuse: readonly [number, string, (readonly [string, string])[]] | null = null
  const peer: SipPeer = await openSipPeer({
    transport: options.transport ?? 'udp',
    onRequest: (request, from, self) => {
      requests.push(request)
      if (refuse !== null) {
        const [status, reason, headers] = refuse
        refuse = null
        self.respond(request, from, status, reason, { tag: token(), headers })
      } else if (guard.admits(self, request, from)) {
        const contact = header(request, 'contact').replace(/;expires=\d+/, '')
        const wanted = Number(header(request, 'expires'))
        const expires = Math.min(wanted, options.expires ?? 3600)
        self.respond(request, from, 200, 'OK', {
          tag: token(),
          headers: contact === '' || wanted === 0 ? [] : [['Contact', `${contact};expires=${expires}`]],
        })
      }
      return true
    },
  })
  return {
    guard,
    requests,
    peer,
    refuseNext(status: number, reason: string, headers: (readonly [string, string])[] = []) {
      refuse = [status, reason, headers]
    },
  }
}

const account = { username: '+911171366900', password: 'pa ss"word' }

for (const transport of ['udp', 'tcp'] as const) {
  for (const algorithm of ['MD5', 'SHA-256'] as const) {
    t.test(`${transport} ${algorithm}: registers, and removes its binding at the end`, async (t) => {
      const rig = await openSignallingRig({ timers: PATIENT })
      t.teardown(() => rig.close())
      const carrier = await openCarrier({ ...account, transport, algorithm })
      t.teardown(() => carrier.peer.close())
      const registrar = new TrunkRegistrations({ sip: rig.sip, clock: systemClock, log: silentLog })
      registrar.sync([
        {
          trunkId: 'trk_1',
          host: '127.0.0.1',
          port: carrier.peer.port,
          transport,
          domain: 'carrier.example',
          credentials: account,
          expires: 300,
        },
      ])
      await until(() => registrar.report('trk_1')?.registered === true)
      const [first, second] = carrier.requests
      if (!first || !second) throw new Error('two REGISTERs')
      t.equal(second.uri, `sip:127.0.0.1:${carrier.peer.port}${transport === 'tcp' ? ';transport=tcp' : ''}`)
      t.match(header(second, 'to'), '<sip:+911171366900@carrier.example>')
      t.match(header(second, 'contact'), new RegExp(`^<sip:\\+911171366900@127.0.0.1:${rig[transport]}`))
      t.match(header(second, 'contact'), /;expires=300$/)
      t.equal(header(second, 'call-id'), header(first, 'call-id'))
      t.equal(cseqOf(second).number, cseqOf(first).number + 1)
      await registrar.close()
      const last = carrier.requests.at(-1)
      if (!last) throw new Error('no last REGISTER')
      t.equal(header(last, 'expires'), '0')
      t.equal(carrier.guard.challenges, 1, 'the known nonce was counted on, not asked for again')
      t.equal(carrier.guard.accepted, 2)
      t.ok(cseqOf(last).number > cseqOf(second).number)
      t.equal(registrar.report('trk_1'), null)
    })
  }
}

t.test('refresh, an expired nonce, 423, and back-off after a failure', async (t) => {
  const rig = await openSignallingRig({ timers: PATIENT })
  t.teardown(() => rig.close())
  const carrier = await openCarrier({ ...account, uses: 2, expires: 3600 })
  t.teardown(() => carrier.peer.close())
  const clock = new VirtualClock()
  const reports: string[] = []
  const registration = new Registration({
    sip: rig.sip,
    clock,
    log: silentLog,
    target: target(carrier.peer.port),
    random: () => 0,
    onReport: ({ registered, sip }) => reports.push(`${registered} ${sip}`),
  })
  carrier.refuseNext(423, 'Interval Too Brief', [['Min-Expires', '1800']])
  registration.start()
  await until(() => registration.state === 'registered')
  t.strictSame(
    carrier.requests.map((request) => header(request, 'expires')),
    ['600', '1800', '1800'],
  )
  t.equal(clock.nextDueMs, 1_440_000, 'at 80 % of what was granted')
  clock.advance(1_440_000)
  await until(() => reports.length === 2)
  clock.advance(480_000)
  await until(() => reports.length === 3)
  t.equal(carrier.guard.challenges, 2, 'the third use of the nonce was too many, and was put right at once')
  carrier.refuseNext(503, 'Service Unavailable')
  clock.advance(480_000)
  await until(() => registration.state === 'waiting')
  clock.advance(2_500)
  await until(() => registration.state === 'registered')
  t.strictSame(reports, ['true 200', 'true 200', 'true 200', 'false 503', 'true 200'])
  await registration.close()
})

t.test('a wrong password is tried once, then not for two minutes', async (t) => {
  const rig = await openSignallingRig({ timers: PATIENT })
  t.teardown(() => rig.close())
  const carrier = await openCarrier({ ...account, password: 'another' })
  t.teardown(() => carrier.peer.close())
  const clock = new VirtualClock()
  const registration = new Registration({
    sip: rig.sip,
    clock,
    log: silentLog,
    target: target(carrier.peer.port),
  })
  registration.start()
  await until(() => registration.state === 'waiting')
  t.strictSame(registration.report, { registered: false, sip: 403 })
  t.equal(carrier.requests.length, 2)
  t.ok((clock.nextDueMs ?? 0) >= 120_000)
  await registration.close()
  t.equal(clock.pending, 0)
  t.equal(carrier.requests.length, 2, 'nothing to unregister')
})

t.test(
  'a new connection registers again; a change replaces the registration; closing gives up on a dead registrar after 2 s',
  async (t) => {
    const sent: OutOfDialogRequest[] = []
    let connected = (): void => {}
    let respond = true
    const sip = {
      onConnected(listener: () => void) {
        connected = listener
        return () => {}
      },
      request(request: OutOfDialogRequest): Promise<OutOfDialogResponse> {
        sent.push(request)
        const reply: OutOfDialogResponse = {
          status: 200,
          local: false,
          cseq: request.cseq,
          header: () => null,
        }
        return respond ? Promise.resolve(reply) : new Promise(() => {})
      },
    } as unknown as SipServer
    const clock = new VirtualClock()
    const registrar = new TrunkRegistrations({ sip, clock, log: silentLog })
    registrar.sync([target(5060)])
    registrar.sync([target(5060)])
    await until(() => registrar.report('trk_1')?.registered === true)
    t.equal(sent.length, 1, 'the same twice is one')
    connected()
    await until(() => sent.length === 2)
    t.equal(sent[0]?.callId, sent[1]?.callId)
    await Promise.resolve()
    registrar.sync([{ ...target(5060), credentials: { ...account, password: 'rotated' } }])
    await until(() => sent.length === 4)
    t.strictSame(
      sent.slice(2).map((request) => request.headers.Expires),
      ['0', '600'],
    )
    await until(() => registrar.report('trk_1')?.registered === true)
    respond = false
    let closed = false
    const closing = registrar.close().then(() => {
      closed = true
    })
    await new Promise<void>((resolve) => setImmediate(resolve))
    t.notOk(closed)
    clock.advance(2_000)
    await closing
    t.equal(clock.pending, 0)
    registrar.sync([target(5060)])
    t.equal(sent.length, 5, 'nothing starts after the end')
  },
)

t.test('probes', async (t) => {
  const rig = await openSignallingRig({ timers: { T1: 20, T2: 160, T4: 200 } })
  t.teardown(() => rig.close())
  const carrier = await openCarrier(account)
  t.teardown(() => carrier.peer.close())
  const tools = { sip: rig.sip, clock: systemClock }
  const place = { host: '127.0.0.1', port: carrier.peer.port, transport: 'udp', domain: null } as const
  const startedAt = Date.now()
  const good = await probeTrunk(tools, { ...place, credentials: account }, 'options')
  t.match(good, { ok: true, method: 'options', sipStatus: 200, error: null })
  t.ok((good.latencyMs ?? -1) >= 0)
  t.ok(good.at >= startedAt)
  t.match(await probeTrunk(tools, { ...place, credentials: null }, 'options'), { ok: false, sipStatus: 401 })
  t.match(await probeTrunk(tools, { ...place, credentials: account }, 'register'), {
    ok: true,
    method: 'register',
  })
  t.equal(
    header(carrier.requests.at(-1) ?? ({} as SipMessage), 'contact'),
    '',
    'asks for bindings, makes none',
  )
  t.match(await probeTrunk(tools, { ...place, credentials: { ...account, password: 'x' } }, 'register'), {
    ok: false,
    sipStatus: 403,
    error: /^forbidden/,
  })
  t.match(await probeTrunk(tools, { ...place, credentials: null }, 'register'), {
    ok: false,
    sipStatus: null,
  })
  carrier.refuseNext(405, 'Method Not Allowed')
  t.match(
    await probeTrunk(tools, { ...place, credentials: null }, 'options'),
    { ok: true, sipStatus: 405 },
    'it is there',
  )
  // The administrator of the telephone system reads these texts.
  const refusals = [
    [403, /^forbidden: .*address or account/],
    [404, /does not know this account: check the user name and the domain/],
    [405, /does not support REGISTER: use IP authentication/],
    [408, /a proxy in front of the gateway got no answer/],
    [423, /a longer registration time/],
    [503, /overloaded or has no route/],
    [604, /^the gateway answered 604$/],
  ] as const
  for (const [status, error] of refusals) {
    carrier.refuseNext(status, 'No')
    const refused = await probeTrunk(tools, { ...place, credentials: account }, 'register')
    t.match(refused, { ok: false, sipStatus: status, error }, `${status}`)
  }
  t.match(await probeTrunk(tools, { ...place, port: 1, transport: 'tcp', credentials: null }, 'options'), {
    ok: false,
    sipStatus: null,
    latencyMs: null,
    error: /port 1 over TCP cannot be reached/,
  })
  carrier.peer.intercept = () => 'drop'
  t.match(await probeTrunk(tools, { ...place, credentials: null }, 'options', 100), {
    ok: false,
    error: /^no answer from 127\.0\.0\.1 port \d+ over UDP: check the port/,
  })
  t.match(await probeTrunk(tools, { ...place, credentials: null }, 'options'), {
    ok: false,
    error: 'no answer',
  })
  await rig.sip.close()
  t.match(await probeTrunk(tools, { ...place, credentials: null }, 'options'), {
    ok: false,
    error: /no connection/,
  })
})

function target(port: number): RegistrationTarget {
  return {
    trunkId: 'trk_1',
    host: '127.0.0.1',
    port,
    transport: 'udp',
    domain: null,
    credentials: account,
    expires: 600,
  }
}
