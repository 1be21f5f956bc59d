import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { WAIT_LIMIT_MS } from '../../fixtures/host/deadlines.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { readRawSipMessage, request, SDP_A } from '../../fixtures/rigs/embedded-rig.js'
import { type Cli, type CliTest, runCli, temporaryFolder } from '../../fixtures/service/cli.js'
import { makeAuthority } from '../../fixtures/sip/certificates.js'
import { openTlsPeer } from '../../fixtures/sip/tls-peer.js'
import { openWsPeer } from '../../fixtures/sip/ws-peer.js'
import { UsageError } from './options.js'
import { sipServerCommand } from './sip-server.js'

/*
 * `parley sip-server` as an operator runs it: a process, its one line of output, its exit.
 */

assertNothingLeft(t)
t.jobs = 3
const beside = () => ({ buffered: true, timeout: 150_000 })

const ANY = ['--control', '127.0.0.1:0', '--secret', 'cymru']

async function start(t: CliTest, args: readonly string[]) {
  const cli = runCli(t, await temporaryFolder(t), ['sip-server', ...ANY, ...args])
  const [line, sip = '', control = ''] = await cli.printed(
    /^parley sip-server ready: sip (\S+) control \S+:(\d+)\n/,
  )
  const port = (transport: string) => Number(new RegExp(`${transport}:[^,]*:(\\d+)`).exec(sip)?.[1])
  return { cli, line, port, control: Number(control) }
}

async function ends(cli: Cli): Promise<number | string> {
  cli.process.kill('SIGTERM')
  return cli.exit()
}

t.test('help, and wrong use', beside(), async (t) => {
  const folder = await temporaryFolder(t)
  const help = runCli(t, folder, ['sip-server', '--help'])
  t.equal(await help.exit(), 0)
  for (const option of [
    'listen',
    'control',
    'secret',
    'tls-cert',
    'tls-key',
    'tls-ca',
    'advertise',
    'drain',
  ]) {
    t.match(help.stdout, `--${option} `)
  }
  const wrong = runCli(t, folder, ['sip-server'])
  t.equal(await wrong.exit(), 2)
  t.match(wrong.stderr, /--secret SECRET or --secret-file FILE\nSee parley --help/)
  t.equal(wrong.stdout, '')
  for (const [args, message] of [
    [[...ANY, '--listen', 'sctp:127.0.0.1:5060'], /--listen: set a comma-separated list/],
    [[...ANY, '--advertise', 'example.com'], /--advertise must be an IP address/],
    [[...ANY, '--tls-cert', 'x.pem'], /--tls-cert and --tls-key require each other/],
    [[...ANY, '--local-network', '10.0.0.0'], /--local-network must be a network/],
    [['--secret', 'a|b'], /the secret must be one line without/],
    [[...ANY, '--t1', 'soon'], /--t1: set a whole number/],
    [[...ANY, '--colour'], /--colour/],
  ] as const) {
    await t.rejects(sipServerCommand(args), { constructor: UsageError, message }, args.join(' '))
  }
  const tls = sipServerCommand([...ANY, '--listen', 'tls:127.0.0.1:0'])
  await t.rejects(tls, { code: 'config_invalid', message: /a tls address needs a certificate/ })
  const missing = [...ANY, '--listen', 'tls:127.0.0.1:0', '--tls-cert', '/no/cert', '--tls-key', '/no/key']
  await t.rejects(sipServerCommand(missing), { code: 'config_invalid', message: /^\/no\/cert: / })
})

t.test('every transport, one line of output, and a clean exit', beside(), async (t) => {
  const authority = makeAuthority(t)
  const { certificateFile, keyFile } = authority.issue('IP:127.0.0.1')
  const folder = await temporaryFolder(t)
  const secret = join(folder, 'secret')
  await writeFile(secret, 'from a file\n')
  const cli = runCli(t, folder, [
    'sip-server',
    ...['udp', 'tcp', 'tls', 'ws', 'wss'].flatMap((name) => ['--listen', `${name}:127.0.0.1:0`]),
    ...['--control', '127.0.0.1:0', '--secret-file', secret],
    ...['--tls-cert', certificateFile, '--tls-key', keyFile, '--tls-ca', authority.certificateFile],
  ])
  const [, sip = '', control] = await cli.printed(/ready: sip (\S+) control 127.0.0.1:(\d+)\n/)
  const port = (name: string) => Number(new RegExp(`(?:^|,)${name}:[^,]*:(\\d+)`).exec(sip)?.[1])
  const ca = authority.certificate
  const peers = [
    ['TLS', await openTlsPeer(port('tls'), { ca })],
    ['WS', await openWsPeer(`ws://127.0.0.1:${port('ws')}`)],
    ['WSS', await openWsPeer(`wss://127.0.0.1:${port('wss')}`, { ca })],
  ] as const
  for (const [transport, peer] of peers) {
    peer.send(request('OPTIONS', peer, {}, '', { transport }))
    t.equal((await peer.next('SIP/2.0 503')).start, 'SIP/2.0 503 Service Unavailable', transport)
    await peer.close()
  }
  const app = createConnection(Number(control), '127.0.0.1')
  const hello = 'm1|authenticate|from a file|'
  app.write(`${hello.length}#${hello}`)
  const [answer] = await once(app, 'data')
  t.match(String(answer), `|response|m1|OK|udp/127.0.0.1:${port('udp')},tcp/`)
  app.destroy()
  t.equal(await ends(cli), 0)
  t.equal(cli.stdout.trim().split('\n').length, 1)
  t.equal(cli.stderr, '')
})

t.test('SIGTERM: new calls get 503, the live call ends normally', beside(), async (t) => {
  const { cli, port, control } = await start(t, ['--listen', 'udp:127.0.0.1:0'])
  const peer = createSocket('udp4')
  t.teardown(() => new Promise<void>((resolve) => peer.close(() => resolve())))
  peer.bind(0, '127.0.0.1')
  await once(peer, 'listening')
  const from = { port: peer.address().port }
  const receive = async (start: string) => {
    for (;;) {
      const [bytes] = await once(peer, 'message', { signal: AbortSignal.timeout(WAIT_LIMIT_MS) })
      const message = readRawSipMessage(String(bytes))
      if (message.start.startsWith(start)) return message
    }
  }
  const send = (text: string) => peer.send(text, port('udp'), '127.0.0.1')
  // A minimal application: it answers the INVITE and nothing else.
  const app = createConnection(control, '127.0.0.1')
  t.teardown(async () => void app.destroy())
  const frame = (text: string) => app.write(`${Buffer.byteLength(text)}#${text}`)
  const heard = async (pattern: RegExp) => {
    for (let text = ''; ; ) {
      const [bytes] = await once(app, 'data', { signal: AbortSignal.timeout(WAIT_LIMIT_MS) })
      text += String(bytes)
      const found = pattern.exec(text)
      if (found) return found
    }
  }
  frame('m1|authenticate|cymru|')
  await heard(/m1\|OK/)
  frame('m2|route|invite')
  await heard(/m2\|OK/)
  const invite = request('INVITE', from, {}, SDP_A)
  const arriving = heard(/\|udp\|127\.0\.0\.1\|\d+\|[^|]+\|([^|]+)\|\|/)
  send(invite)
  const [, transaction] = await arriving
  const answered = receive('SIP/2.0 200')
  frame(`m3|sip|${transaction}|\r\nSIP/2.0 200 OK\r\nContent-Type: application/sdp\r\n\r\n${SDP_A}`)
  const ok = await answered
  const inCall = { To: ok.header('To'), From: ok.header('From'), 'Call-ID': ok.header('Call-ID') }
  send(request('ACK', from, { ...inCall, CSeq: '1 ACK' }))

  cli.process.kill('SIGTERM')
  // The signal takes effect a moment later. Until then INVITEs reach the application.
  let refused = null
  while (refused === null) {
    send(request('OPTIONS', from))
    const answer = await receive('SIP/2.0 503')
    if (answer.header('Retry-After') !== '') refused = answer
  }
  t.equal(refused.header('Retry-After'), '5')
  t.equal(cli.process.exitCode, null)
  const bye = heard(/\|udp\|127\.0\.0\.1\|\d+\|[^|]+\|([^|]+)\|[^|]+\|\r\nBYE/)
  send(request('BYE', from, { ...inCall, CSeq: '2 BYE' }))
  const [, ending] = await bye
  const over = receive('SIP/2.0 200')
  frame(`m4|sip|${ending}|\r\nSIP/2.0 200 OK\r\n\r\n`)
  await over
  t.equal(await cli.exit(), 0)
})

t.test('a port in use', beside(), async (t) => {
  const { port } = await start(t, ['--listen', 'tcp:127.0.0.1:0'])
  const folder = await temporaryFolder(t)
  const second = runCli(t, folder, ['sip-server', ...ANY, '--listen', `tcp:127.0.0.1:${port('tcp')}`])
  t.equal(await second.exit(), 1)
  t.match(second.stderr, /EADDRINUSE/)
  t.equal(second.stdout, '')
})
