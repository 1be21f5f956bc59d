import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { EXTERNAL } from '../../fixtures/rigs/signalling-rig.js'
import { runCli, temporaryFolder } from '../../fixtures/service/cli.js'

/*
 * Runs the signalling tests again on a SIP server in a separate process, as an operator's drachtio-server
 * would be. Setting PARLEY_DRACHTIO_URL runs them on any other server.
 */

/** 64 T1, which two of the tests wait for, then takes 3.2 s. */
const T1_MS = 50

t.test(
  'inbound and outbound calls through a separate parley sip-server',
  { skip: EXTERNAL !== null },
  async (t) => {
    const folder = await temporaryFolder(t)
    const server = runCli(t, folder, [
      'sip-server',
      ...['--listen', 'udp:127.0.0.1:0', '--listen', 'tcp:127.0.0.1:0'],
      ...['--control', '127.0.0.1:0', '--secret', 'p@ss/word', '--t1', String(T1_MS)],
    ])
    const [, port] = await server.printed(/^parley sip-server ready: sip .* control 127\.0\.0\.1:(\d+)\n/)
    const url = `tcp://:${encodeURIComponent('p@ss/word')}@127.0.0.1:${port}`
    for (const name of ['inbound', 'outbound']) {
      const test = spawn(
        process.execPath,
        ['--enable-source-maps', fileURLToPath(new URL(`./${name}-leg.net.test.js`, import.meta.url))],
        { env: { ...process.env, PARLEY_DRACHTIO_URL: url }, stdio: ['ignore', 'pipe', 'inherit'] },
      )
      let output = ''
      test.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
      const [status] = await once(test, 'close')
      t.equal(status, 0, name)
      if (status !== 0) t.comment(output)
    }
    server.process.kill('SIGTERM')
    t.equal(await server.exit(), 0)
  },
)
