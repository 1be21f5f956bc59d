import { type Asterisk, type Installed, startAsterisk } from '../../fixtures/sip/asterisk.js'
import { asteriskFiles } from './asterisk-config.js'

/** Below the ephemeral ports. */
const RTP_PORTS = [16_000, 20_000] as const

/** Starts Asterisk with its calls bridged to the bot. Rejects with its output if it does not start. */
export function openAsterisk(installed: Installed, botPort: number): Promise<Asterisk> {
  return startAsterisk(installed, (place) => asteriskFiles({ ...place, rtpPorts: RTP_PORTS, botPort }))
}
