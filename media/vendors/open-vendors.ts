import type { Vendors } from '../agent/vendor-ports.js'
import { EngineError } from '../base/errors.js'
import { type CatalogueProviders, settingsOf } from './catalogue.js'
import { VENDOR_MODULES } from './registry.js'
import type { Vendor, VendorDeps, VendorModule } from './vendor-module.js'

/**
 * Opens the configured vendors for one thread. Asking the result for a vendor that is not configured, or for
 * a part that it lacks, throws EngineError `config_invalid`.
 */
export function openVendors({
  providers,
  modules = VENDOR_MODULES,
  ...deps
}: Omit<VendorDeps, 'catalogue'> & {
  readonly providers: CatalogueProviders
  readonly modules?: readonly VendorModule[]
}): Vendors {
  const vendors = new Map<string, Vendor>()
  for (const module of modules) {
    const settings = settingsOf(module, providers)
    if (settings === null) continue
    for (const [id, vendor] of Object.entries(
      module.open(settings, { ...deps, catalogue: providers.catalogue ?? null }),
    ))
      vendors.set(id, vendor)
  }
  const find = <K extends keyof Vendor>(id: string, part: K): NonNullable<Vendor[K]> => {
    const found = vendors.get(id)?.[part]
    if (!found) {
      throw new EngineError('config_invalid', `${part} of vendor ${id} is not configured`, {
        context: { vendor: id },
      })
    }
    return found
  }
  return {
    speechToText: (id) => find(id, 'speechToText'),
    textToSpeech: (id) => find(id, 'textToSpeech'),
    languageModel: (id) => find(id, 'languageModel'),
    speechToSpeech: (id) => find(id, 'speechToSpeech'),
  }
}
