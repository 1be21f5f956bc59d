import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import {
  openRig,
  type RawSipMessage,
  readRawSipMessage,
  type TestRequest,
} from '../../../fixtures/rigs/embedded-rig.js'
import { TORTURE, TORTURE_RESPONSES } from '../../../fixtures/sip/torture-messages.js'
import { DEFAULT_LIMITS } from '../limits.js'
import { validateMessage } from './message-validation.js'
import { parseSip } from './sip-parser.js'

/** Asked after each message: its answer shows that nothing else was to come. */
const marker = (number: number) =>
  Buffer.from(
    [
      'OPTIONS sip:marker@example.com SIP/2.0',
      `Via: SIP/2.0/UDP 127.0.0.1;rport;branch=z9hG4bK-marker-${number}`,
      'From: <sip:m@example.com>;tag=m',
      'To: <sip:marker@example.com>',
      `Call-ID: marker-${number}`,
      'CSeq: 1 OPTIONS',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  )

t.test('every message of RFC 4475, on the wire to an application', async (t) => {
  const rig = await openRig(t)
  const app = await rig.app()
  const reached: TestRequest[] = []
  for (const method of [
    'invite',
    'register',
    'options',
    'message',
    'info',
    'subscribe',
    'notify',
    'publish',
  ]) {
    app.use(method, (req, res) => {
      if (!req.get('Call-ID').startsWith('marker')) reached.push(req)
      res.send(method === 'invite' ? 488 : 200, { headers: { 'X-App': 'yes' } })
    })
  }
  await rig.routed(app)

  for (const [index, { section, name, bytes, expect }] of TORTURE.entries()) {
    const socket = createSocket('udp4')
    const answers: RawSipMessage[] = []
    socket.on('message', (answer) => {
      answers.push(readRawSipMessage(answer.toString('latin1')))
      socket.emit('test:answer')
    })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const before = reached.length
    socket.send(bytes, rig.port, '127.0.0.1')
    socket.send(marker(index), rig.port, '127.0.0.1')
    const marked = () => answers.some((answer) => answer.header('Call-ID') === `marker-${index}`)
    const finals = () => {
      const own = answers.filter((answer) => !answer.header('Call-ID').startsWith('marker'))
      return own.filter((answer) => !answer.start.startsWith('SIP/2.0 1'))
    }
    while (!marked() || (expect !== 'drop' && finals().length === 0)) {
      await once(socket, 'test:answer', { signal: AbortSignal.timeout(30_000) })
    }
    const [answer] = finals()
    const title = `${section} ${name}`
    if (expect === 'drop') t.equal(answer, undefined, title)
    else if (expect === 'app') {
      t.equal(answer?.header('X-App'), 'yes', `${title}: ${answer?.start}`)
      t.equal(reached.length, before + 1, title)
    } else {
      t.match(answer?.start, `SIP/2.0 ${expect} `, title)
      t.equal(reached.length, before, title)
    }
    await new Promise<void>((resolve) => socket.close(() => resolve()))
  }
  t.equal(reached.length, TORTURE.filter(({ expect }) => expect === 'app').length)
})

t.test('odd but valid responses are parsed', (t) => {
  for (const { name, status, bytes } of TORTURE_RESPONSES) {
    const parsed = parseSip(bytes, DEFAULT_LIMITS)
    if (!parsed.ok || parsed.message.kind !== 'response') throw new Error(`${name} is no response`)
    t.equal(parsed.message.status, status, name)
    t.ok(validateMessage(parsed.message).ok, name)
  }
  t.end()
})
