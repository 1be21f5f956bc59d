import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Clock } from '../../media/base/clock.js'
import { EngineError } from '../../media/base/errors.js'
import { readModelFolder } from './model-folder.js'
import type { ProbeOrder, ProbeReport } from './probe-process.js'

const LIMIT_MS = 120_000
/** Last characters of the runtime's own messages that an error quotes. */
const QUOTED = 600

export type Fitting = Extract<ProbeReport, { kind: 'fits' }>

/**
 * Tries the model of a folder in a child process. Throws EngineError `config_invalid` with the reason when it does not
 * fit: missing files, a missing package, or what the runtime says of a file.
 */
export async function probeModel(order: ProbeOrder, clock: Clock): Promise<Fitting> {
  readModelFolder(order.folder)
  const child = fork(fileURLToPath(new URL('./probe-process.js', import.meta.url)), {
    execArgv: ['--enable-source-maps'],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-QUOTED)
  })
  try {
    const report = await new Promise<ProbeReport>((resolve) => {
      const failed = (message: string): void => resolve({ kind: 'failed', message })
      const limit = clock.after(LIMIT_MS, () => failed(`nothing was recognised within ${LIMIT_MS / 1000} s`))
      child.once('message', (message: ProbeReport) => resolve(message))
      child.once('error', (error) => failed(error.message))
      child.once('close', (code, signal) => {
        limit.cancel()
        failed(`the runtime ended with ${signal ?? `status ${code}`}: ${said.trim() || 'without a message'}`)
      })
      child.send(order)
    })
    if (report.kind === 'fits') return report
    throw new EngineError('config_invalid', `${order.folder} cannot be used: ${report.message}`)
  } finally {
    child.kill('SIGKILL')
  }
}
