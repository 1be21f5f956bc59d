import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { ConnectionBound } from './connection-bound.js'
import type { DialogEnd, ReferReport } from './dialog-port.js'
import type { RawDialog, RawRequest, RawResponse, RawSrf } from './drachtio-types.js'
import { readInvite } from './incoming-invite.js'
import { DialogHandle } from './sip-dialog.js'

/* A dialog of drachtio-srf in memory, for what takes a drachtio-server or minutes with sockets. */

const CHECK_MS = 5000

type Reply = (error: unknown, response?: RawResponse) => void

/** Returns a dialog whose requests `answer` answers. */
function rawDialog(answer: (done: Reply, options: object) => void): RawDialog {
  const raw = {
    id: 'a',
    type: 'uas',
    req: { socket: null },
    res: { get: () => undefined },
    sip: { callId: 'a' },
    local: { sdp: '' },
    remote: { sdp: '' },
    destroy() {},
    request: (options: object, done: Reply) => answer(done, options),
  }
  return Object.assign(new EventEmitter(), raw) as unknown as RawDialog
}

/** Opens a dialog that lost its connection and continues over the next one. A null status means an error. */
function resumed() {
  const clock = new VirtualClock()
  const state = { status: 200 as number | null, requests: 0, ends: [] as DialogEnd[] }
  const raw = rawDialog((done) => {
    state.requests += 1
    const { status } = state
    if (status === null) done(new Error('unknown dialog'))
    else done(null, { status, get: () => undefined } as unknown as RawResponse)
  })
  const open = new Set<ConnectionBound>()
  const dialog = new DialogHandle(raw, open, { clock, log: silentLog }, null)
  dialog.listen({
    acknowledged() {},
    offered: (_body, reply) => reply(500, ''),
    ended: (why) => state.ends.push(why),
  })
  dialog.suspend()
  dialog.resume({ app: {}, addDialog() {} } as unknown as RawSrf, {} as Socket)
  return { clock, state, dialog, open }
}

t.test('a call over a new connection asks every five seconds whether the peer is there', async (t) => {
  const { clock, state, open } = resumed()
  t.equal(state.requests, 1, 'at once')
  clock.advance(4 * CHECK_MS)
  t.equal(state.requests, 5)
  t.same(state.ends, [])
  state.status = 481
  clock.advance(CHECK_MS)
  t.same(state.ends, [{ kind: 'peer', reason: null }])
  clock.advance(10 * CHECK_MS)
  t.equal(state.requests, 6, 'no further question')
  t.equal(open.size, 0)
})

t.test('a peer that does not answer, and a server without the dialog, end the call', async (t) => {
  for (const [status, end] of [
    [408, { kind: 'server', reason: 'OPTIONS timeout' }],
    [null, { kind: 'lost' }],
  ] as const) {
    const { clock, state } = resumed()
    state.status = status
    clock.advance(CHECK_MS)
    t.same(state.ends, [end])
  }
})

t.test('what a peer answers to OPTIONS tells whether it has the call', async (t) => {
  const peer = { source_address: '192.0.2.1' }
  for (const [error, response, answer] of [
    [null, { status: 200, ...peer }, 'exists'],
    [null, { status: 405, ...peer }, 'exists'],
    [null, { status: 503, ...peer }, 'exists'],
    [null, { status: 481, ...peer }, 'gone'],
    [null, { status: 408, ...peer }, 'unanswered'],
    [null, { status: 503, source_address: '' }, 'unanswered'],
    [new Error('no connection'), undefined, 'unanswered'],
  ] as const) {
    const raw = rawDialog((done) => done(error, response && ({ ...response, get() {} } as never)))
    const dialog = new DialogHandle(raw, new Set(), { clock: new VirtualClock(), log: silentLog }, null)
    t.equal(await dialog.ask(), answer, `${response?.status ?? error}`)
  }
  const silent = rawDialog(() => {})
  const dialog = new DialogHandle(silent, new Set(), { clock: new VirtualClock(), log: silentLog }, null)
  const asked = dialog.ask()
  dialog.suspend()
  t.equal(await asked, 'exists', 'the connection to the SIP server broke')
  t.equal(await dialog.ask(), 'exists', 'and is asked again when it is back')
})

t.test('neither a hang-up of ours nor another lost connection leaves a timer', async (t) => {
  const { clock, state, dialog } = resumed()
  dialog.suspend()
  clock.advance(10 * CHECK_MS)
  t.equal(state.requests, 1)
  const second = resumed()
  void second.dialog.bye()
  second.clock.advance(10 * CHECK_MS)
  t.equal(second.state.requests, 1)
})

t.test('a session interval below 90 s is refused by the application too', async (t) => {
  const message = (expires: string, method = 'INVITE'): RawRequest => {
    const headers: Readonly<Record<string, string>> = {
      'Session-Expires': expires,
      Supported: 'timer',
      Contact: '<sip:a@192.0.2.1>',
    }
    return Object.assign(new EventEmitter(), {
      method,
      uri: 'sip:a@192.0.2.1',
      source: 'network',
      source_address: '192.0.2.1',
      source_port: 5060,
      protocol: 'udp',
      body: '',
      get: (name: string) => headers[name],
      has: (name: string) => name in headers,
      cancel: () => {},
    })
  }
  const refused = { ok: false, status: 422, headers: { 'Min-SE': '90' } }
  t.same(readInvite(message('60')), refused)
  t.same(readInvite(message('89;refresher=uac')), refused)
  t.same(readInvite(message('90')), { ok: true, offer: '' })
  t.same(readInvite(message('soon')), { ok: true, offer: '' })
  const statuses: number[] = []
  const raw = rawDialog(() => {})
  new DialogHandle(raw, new Set(), { clock: new VirtualClock(), log: silentLog }, null)
  const res = { send: (status: number) => void statuses.push(status) } as unknown as RawResponse
  raw.emit('update', message('60', 'UPDATE'), res)
  raw.emit('update', message('1800', 'UPDATE'), res)
  t.same(statuses, [422, 200])
})

/** A dialog whose handler takes REFERs, and what was sent. */
function referable(handler?: (target: string, report: ReferReport) => boolean) {
  const sent: string[] = []
  const raw = rawDialog((done, options) => {
    const { method, headers, body } = options as {
      method: string
      headers: Record<string, string>
      body: string
    }
    sent.push(`${method} ${headers.Event} ${headers['Subscription-State']} ${body.trim()}`)
    done(null, { status: 200, get: () => undefined } as unknown as RawResponse)
  })
  const dialog = new DialogHandle(raw, new Set(), { clock: new VirtualClock(), log: silentLog }, null)
  dialog.listen({
    acknowledged() {},
    offered: (_body, reply) => reply(500, ''),
    ended() {},
    ...(handler === undefined ? {} : { referred: handler }),
  })
  const refer = (target: string | undefined) => {
    const req = { get: (name: string) => (name === 'Refer-To' ? target : undefined) }
    const res = { send: (status: number) => void sent.push(String(status)) }
    ;(raw as unknown as EventEmitter).emit('refer', req, res)
  }
  return { sent, dialog, refer }
}

t.test('a REFER is accepted, and its progress is reported until its end', async (t) => {
  const targets: string[] = []
  const reports: ReferReport[] = []
  const { sent, refer } = referable((target, report) => {
    targets.push(target)
    reports.push(report)
    return true
  })
  refer('<sip:+911140000002@pbx.example>')
  for (const [status, reason] of [
    [180, 'Ringing'],
    [200, 'OK'],
    [503, 'Too Late'],
  ] as const) {
    reports[0]?.(status, reason)
  }
  t.strictSame(targets, ['<sip:+911140000002@pbx.example>'])
  t.strictSame(sent, [
    '202',
    'NOTIFY refer active;expires=300 SIP/2.0 100 Trying',
    'NOTIFY refer active;expires=300 SIP/2.0 180 Ringing',
    'NOTIFY refer terminated;reason=noresource SIP/2.0 200 OK',
  ])
})

t.test('a REFER that is decided at once is reported after the 202', async (t) => {
  const { sent, refer } = referable((_target, report) => {
    report(603, 'Decline')
    return true
  })
  refer('sip:+911140000002@pbx.example')
  t.strictSame(sent, ['202', 'NOTIFY refer terminated;reason=noresource SIP/2.0 603 Decline'])
})

t.test('a REFER without support, that cannot be followed, or after the end', async (t) => {
  const { sent, refer } = referable()
  refer('sip:+911140000002@pbx.example')
  const declined = ['202', 'NOTIFY refer terminated;reason=noresource SIP/2.0 603 Decline']
  t.strictSame(sent, declined)
  const able = referable(() => t.fail('not a transfer'))
  for (const target of [
    undefined,
    '<sip:+911140000002@pbx.example>, <sip:+911140000003@pbx.example>',
    '"<sip:+911140000002@pbx.example>',
    'sip:+911140000002@pbx.example?Replaces=a',
    '<sip:+911140000002@pbx.example?Replaces=a%3Bto-tag%3Db%3Bfrom-tag%3Dc>',
    '<sip:+911140000002@pbx.example?Subject=x&replaces=a>',
    '<sip:+911140000002@pbx.example;method=BYE>',
  ])
    able.refer(target)
  t.strictSame(able.sent, ['400', '400', '400', '400', '603', '603', '603'])
  const ended = referable(() => true)
  void ended.dialog.bye()
  ended.refer('sip:+911140000002@pbx.example')
  t.strictSame(ended.sent, ['481'])
})
