import { EventEmitter } from 'node:events'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { RawRequest, RawResponse, RawSrf } from './drachtio-types.js'
import { IncomingInvite, readInvite } from './incoming-invite.js'

/*
 * Races between the application and the SIP server that a test with sockets cannot hit reliably.
 */

function request(body: string, headers: Readonly<Record<string, string>> = {}): RawRequest {
  return Object.assign(new EventEmitter(), {
    method: 'INVITE',
    uri: 'sip:+911140000001@127.0.0.1',
    source: 'network',
    source_address: '127.0.0.1',
    source_port: 5060,
    protocol: 'udp',
    body,
    get: (name: string) => headers[name],
    has: (name: string) => name in headers,
    cancel: () => {},
  })
}

/** An INVITE over a library that takes it up to the 200, which the server refuses with `refusal`. */
function refusing(refusal: string, req = request(''), offer = ''): IncomingInvite {
  const res: RawResponse = {
    status: 0,
    reason: '',
    finalResponseSent: false,
    source_address: undefined,
    source_port: undefined,
    body: undefined,
    get: () => undefined,
    has: () => false,
    send: () => {},
  }
  const srf: RawSrf = Object.assign(new EventEmitter(), {
    app: {},
    addDialog: () => {},
    connect: () => {},
    use: () => {},
    createUAC: () => {},
    request: () => {},
    createUAS: (
      _req: RawRequest,
      _res: RawResponse,
      _options: object,
      callback: (error: unknown) => void,
    ) => {
      callback(refusal)
    },
  })
  return new IncomingInvite(srf, req, res, offer, new Set(), { clock: new VirtualClock(), log: silentLog })
}

const handlers = { acknowledged: () => {}, offered: () => {}, ended: () => {} }

t.test('a CANCEL that crosses our 200 withdraws the INVITE, though the library drops it', async (t) => {
  const invite = refusing('Response not sent due to unknown transaction')
  const withdrawn: string[] = []
  invite.onWithdrawn((why) => withdrawn.push(why))
  await t.rejects(invite.accept('', handlers), { code: 'sip_failed' })
  t.strictSame(withdrawn, ['cancelled'])
  t.ok(invite.over)
})

t.test('a 200 that cannot be sent for another reason is not a CANCEL', async (t) => {
  const invite = refusing('Response not sent: the connection of the request is closed')
  const withdrawn: string[] = []
  invite.onWithdrawn((why) => withdrawn.push(why))
  await t.rejects(invite.accept('', handlers), { code: 'sip_failed' })
  t.strictSame(withdrawn, [])
  t.ok(invite.over)
})

t.test('the body of an INVITE is read once', async (t) => {
  const body = '--b\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n--b--\r\n'
  const req = request(body, {
    Contact: '<sip:a@192.0.2.1>',
    'Content-Type': 'multipart/mixed;boundary=b',
  })
  let reads = 0
  Object.defineProperty(req, 'body', {
    get: () => {
      reads++
      return body
    },
  })
  const form = readInvite(req)
  t.strictSame(form, { ok: true, offer: 'v=0' })
  t.equal(refusing('', req, form.ok ? form.offer : '').body, 'v=0')
  t.equal(reads, 1)
})
