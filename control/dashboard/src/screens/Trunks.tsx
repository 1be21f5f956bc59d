import { Alert, Button, Checkbox, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { CreateSipTrunkBody } from '../../../../clients/typescript/generated/types.js'
import type { Item, Result } from '../api.js'
import { useFormat } from '../i18n.js'
import { Form, FormDialog, KeptDialog, Once } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Loaded, Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State, useWord } from '../parts/Word.js'
import { useKey, useSession } from '../session.js'

type Trunk = Item<'listSipTrunks'>

/** Lists SIP trunks. An organization without the right to create them can ask for it. */
export function Trunks() {
  const t = useTranslations('trunks')
  const { api, canManage, environment } = useSession()
  const key = useKey()
  const { time } = useFormat()
  const probed = useProbe()
  const [creating, setCreating] = useState(false)
  const entitlement = useQuery({
    queryKey: key('trunk-entitlement'),
    queryFn: () => api.readSipTrunkEntitlement(),
  })
  const trunks = useList(['trunks'], (cursor) => api.listSipTrunks({ query: { cursor } }))
  const mayCreate = canManage && entitlement.data?.enabled === true
  return (
    <Page
      title={t('title')}
      actions={mayCreate && <Button onClick={() => setCreating(true)}>{t('new')}</Button>}
    >
      <Loaded query={entitlement} height={60}>
        {(data) => (data.enabled ? null : <Access entitlement={data} />)}
      </Loaded>
      <List query={trunks} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('trunk'),
                cell: ({ id, name }) => (
                  <Link to="/$environment/trunks/$id" params={{ environment, id }}>
                    {name}
                  </Link>
                ),
              },
              { title: t('status'), cell: ({ status }) => <State value={status} /> },
              { title: t('probe'), cell: ({ lastProbe }) => probed(lastProbe) },
              { title: t('inbound'), cell: ({ lastInboundAt }) => time(lastInboundAt) },
              { title: t('outbound'), cell: ({ lastOutboundAt }) => time(lastOutboundAt) },
            ]}
          />
        )}
      </List>
      {creating && <NewTrunk close={() => setCreating(false)} />}
    </Page>
  )
}

const AUTH_REFUSED = [401, 403, 407]

/** Returns a function that tells the result of a test in a sentence. */
export function useProbe(): (probe: Trunk['lastProbe']) => string {
  const t = useTranslations('trunks')
  return (probe) => {
    if (probe === null) return t('untested')
    const { ok, method, sipStatus, latencyMs, error } = probe
    if (sipStatus === null) return t('probed.silent', { error: error ?? '' })
    if (ok && method === 'register') return t('probed.registered', { ms: latencyMs ?? 0 })
    if (ok) return t('probed.ok', { status: sipStatus, ms: latencyMs ?? 0 })
    if (AUTH_REFUSED.includes(sipStatus)) return t('probed.auth', { status: sipStatus })
    if (sipStatus === 404) return t('probed.missing', { status: sipStatus })
    return t('probed.refused', { status: sipStatus })
  }
}

function Access({ entitlement }: { readonly entitlement: Result<'readSipTrunkEntitlement'> }) {
  const t = useTranslations('trunks')
  const { api, canManage } = useSession()
  const { time } = useFormat()
  const word = useWord()
  const form = useFields({ message: '' })
  const ask = useAction(() => api.requestSipTrunkAccess({ body: form.values }))
  const { request, organizationVerified } = entitlement
  return (
    <Alert color="cyan" title={t('none')}>
      {request !== null && (
        <p>
          {t('asked', { time: time(request.requestedAt), state: word(request.status) })}{' '}
          {request.rejectionReason}
        </p>
      )}
      {!organizationVerified && <p>{t('verifyFirst')}</p>}
      {canManage && request?.status !== 'pending' && (
        <Form action={ask} submit={t('ask')}>
          <Textarea label={t('why')} required maxLength={1000} autosize {...form.text('message')} />
        </Form>
      )}
    </Alert>
  )
}

const AUTHS = ['digest', 'ip_acl', 'both'] as const
const TRANSPORTS = ['tls', 'tcp', 'udp'] as const

export const linesOf = (text: string): string[] => text.split(/[\s,]+/).filter((line) => line !== '')

function NewTrunk({ close }: { readonly close: () => void }) {
  const t = useTranslations('trunks')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const word = useWord()
  const form = useFields({
    name: '',
    auth: 'digest' as string,
    acl: '',
    host: '',
    port: 5061,
    transport: 'tls' as string,
    user: '',
    password: '',
    register: false,
    maxConcurrent: 10,
  })
  const { name, auth, acl, host, port, transport, user, password, register, maxConcurrent } = form.values
  const body: CreateSipTrunkBody = {
    name,
    inboundAuth: auth as CreateSipTrunkBody['inboundAuth'],
    ipAcl: linesOf(acl),
    maxConcurrent,
    ...(host === ''
      ? {}
      : {
          outboundHost: host,
          outboundPort: port,
          outboundTransport: transport as CreateSipTrunkBody['outboundTransport'],
          register,
        }),
    ...(host === '' || user === '' ? {} : { outboundAuthUsername: user, outboundPassword: password }),
  }
  const create = useAction(() => api.createSipTrunk({ body }))
  if (create.data !== undefined) {
    return (
      <KeptDialog title={t('created')} close={close} size="lg">
        <Credentials {...create.data.connection} />
      </KeptDialog>
    )
  }
  return (
    <FormDialog title={t('new')} close={close} size="lg" action={create} submit={t('create')}>
      <TextInput label={tCommon('name')} required maxLength={80} data-autofocus {...form.text('name')} />
      <NativeSelect
        label={t('auth')}
        data={AUTHS.map((value) => ({ value, label: word(value) }))}
        {...form.text('auth')}
      />
      {auth !== 'digest' && <Textarea label={t('acl')} required autosize minRows={2} {...form.text('acl')} />}
      <NumberInput label={t('concurrent')} min={1} {...form.number('maxConcurrent')} />
      <TextInput label={t('host')} {...form.text('host')} />
      {host !== '' && (
        <>
          <NumberInput label={t('port')} min={1} max={65535} {...form.number('port')} />
          <NativeSelect label={t('transport')} data={[...TRANSPORTS]} {...form.text('transport')} />
          <TextInput label={t('user')} autoComplete="off" {...form.text('user')} />
          <TextInput
            label={t('password')}
            type="password"
            autoComplete="new-password"
            {...form.text('password')}
          />
          <Checkbox label={t('register')} {...form.box('register')} />
        </>
      )}
    </FormDialog>
  )
}

type Connection = Result<'createSipTrunk'>['connection']

/** Shows the settings that the customer's own telephone system needs. The password is shown only once. */
export function Credentials({ host, port, transport, realm, username, password }: Connection) {
  const t = useTranslations('trunks')
  return (
    <Once
      text={t('secretOnce')}
      secrets={[
        [t('server'), `sip:${host}:${port};transport=${transport}`],
        [t('realm'), realm],
        [t('user'), username],
        [t('password'), password],
      ]}
    />
  )
}
