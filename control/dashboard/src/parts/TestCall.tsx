import { NativeSelect } from '@mantine/core'
import { useTranslations } from 'use-intl'
import type { CreateSandboxInboundCallBody } from '../../../../clients/typescript/generated/types.js'
import { useSession } from '../session.js'
import { useFields } from './fields.js'
import { useAction } from './List.js'

type Persona = NonNullable<CreateSandboxInboundCallBody['persona']>

/** How the simulated caller behaves. */
const PERSONAS: readonly Persona[] = [
  'polite',
  'interrupts',
  'silent',
  'presses_digits',
  'wants_person',
  'no_more_calls',
  'talks_forever',
  'screening',
  'voicemail',
  'media_dies',
]
const CALLER = '+919812345678'

/** A call of a simulated caller to a number of the test environment. */
export function useTestCall(numberId: string, then: (callId: string) => void) {
  const { api } = useSession()
  const form = useFields({ persona: 'polite' as string })
  const persona = form.values.persona as Persona
  const call = useAction(
    () => api.createSandboxInboundCall({ body: { numberId, from: CALLER, persona } }),
    ({ callId }) => then(callId),
  )
  return { form, call }
}

type InputProps = Pick<Parameters<typeof NativeSelect>[0], 'name' | 'value' | 'onChange'>

export function PersonaInput(props: InputProps) {
  const t = useTranslations('numbers')
  const tPersona = useTranslations('persona')
  return (
    <NativeSelect
      label={t('persona')}
      data={PERSONAS.map((value) => ({ value, label: tPersona(value) }))}
      {...props}
    />
  )
}
