import type { Clock } from '../../media/base/clock.js'
import type { Log } from '../../media/base/log.js'
import { type CatalogueProviders, retirements } from '../../media/vendors/catalogue.js'

/** The operator is warned this long (ms) before a model retires. */
const NOTICE_MS = 120 * 24 * 60 * 60_000

/** Logs a warning for each configured model that its vendor switches off soon, or has switched off. */
export function warnOfRetirements(providers: CatalogueProviders, clock: Clock, log: Log): void {
  for (const { model, retiresOn, successor = null } of retirements(providers)) {
    const leftMs = Date.parse(retiresOn) - clock.wall()
    if (leftMs > NOTICE_MS) continue
    log.warn({ model, retiresOn, successor }, leftMs > 0 ? 'model.retires_soon' : 'model.retired')
  }
}
