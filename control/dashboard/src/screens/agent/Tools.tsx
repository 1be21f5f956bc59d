import { NativeSelect, SimpleGrid } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { useKey, useSession } from '../../session.js'
import type { Draft } from './config.js'
import {
  ChoiceField,
  Entries,
  NumberField,
  type Option,
  PairsField,
  Section,
  SwitchField,
  TextField,
  useEditing,
} from './fields.js'

type Tool = Draft['tools'][number]

const PRESETS = ['end_call', 'transfer_call', 'send_dtmf', 'opt_out', 'schedule_callback'] as const
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const same = (values: readonly string[]): readonly Option[] =>
  values.map((value) => ({ value, label: value }))

const NO_AUTH = { type: 'none', in: null, name: null, header: null, secretId: null, secondary: null } as const
const REQUEST: NonNullable<Tool['http']> = {
  method: 'POST',
  url: 'https://',
  timeoutMs: 8_000,
  headers: {},
  bodyFormat: 'json',
  bodyRoot: null,
  auth: null,
}

/** Edits the tools of the agent. A tool is an action of the service, or a request to the customer's system. */
export function Tools() {
  const t = useTranslations('agentForm')
  return (
    <Section title={t('tools')} paths={['tools']}>
      <Entries<Tool>
        path="tools"
        most={32}
        nameOf={({ name }, place) => name || t('tool', { place })}
        add={t('addTool')}
        fresh={() => ({
          ...{ name: '', description: '', parameters: [], connectionId: null, preset: 'end_call' },
          ...{ speech: {}, mock: null, http: null },
        })}
      >
        {(at, tool) => <ToolFields at={at} tool={tool} />}
      </Entries>
    </Section>
  )
}

function ToolFields({ at, tool }: { readonly at: string; readonly tool: Tool }) {
  const t = useTranslations('agentForm')
  const { disabled, set, errorAt } = useEditing()
  const error = errorAt(`${at}.preset`) ?? errorAt(at)
  return (
    <>
      <TextField path={`${at}.name`} required maxLength={64} />
      <TextField path={`${at}.description`} rows={2} required maxLength={1_000} />
      <NativeSelect
        label={t('tools_action')}
        disabled={disabled}
        {...(error === undefined ? {} : { error })}
        value={tool.preset ?? 'http'}
        onChange={({ currentTarget: { value } }) =>
          set(
            at,
            value === 'http'
              ? { ...tool, preset: null, http: tool.http ?? REQUEST }
              : { ...tool, preset: value, http: null, connectionId: null },
          )
        }
        data={[
          ...PRESETS.map((value) => ({ value, label: t(`preset_tool.${value}`) })),
          { value: 'http', label: t('preset_tool.http') },
        ]}
      />
      {tool.preset === null && tool.http !== null && <Request at={at} http={tool.http} />}
      {tool.preset === null && (
        <Entries<Tool['parameters'][number]>
          path={`${at}.parameters`}
          most={20}
          nameOf={({ name }, place) => name || t('parameter', { place })}
          add={t('addParameter')}
          fresh={() => ({ name: '', description: '', required: false, type: 'string' })}
        >
          {(parameter) => (
            <>
              <TextField path={`${parameter}.name`} required maxLength={50} />
              <TextField path={`${parameter}.description`} maxLength={500} />
              <ChoiceField
                path={`${parameter}.type`}
                options={(['string', 'number', 'integer', 'boolean'] as const).map((value) => ({
                  value,
                  label: t(`type.${value}`),
                }))}
              />
              <SwitchField path={`${parameter}.required`} />
            </>
          )}
        </Entries>
      )}
      <PairsField path={`${at}.speech`} />
      {tool.mock === null ? (
        <NativeSelect
          label={t('tools_mock')}
          description={t('tools_mock_hint')}
          disabled={disabled}
          value="off"
          onChange={() => set(`${at}.mock`, { enabled: true, response: '' })}
          data={[
            { value: 'off', label: t('mockOff') },
            { value: 'on', label: t('mockOn') },
          ]}
        />
      ) : (
        <>
          <SwitchField path={`${at}.mock.enabled`} />
          <TextField path={`${at}.mock.response`} rows={2} maxLength={10_000} />
        </>
      )}
    </>
  )
}

/** The request of a tool. */
function Request({ at, http }: { readonly at: string; readonly http: NonNullable<Tool['http']> }) {
  const t = useTranslations('agentForm')
  const { api } = useSession()
  const key = useKey()
  const { disabled, set } = useEditing()
  const secrets = useQuery({
    queryKey: key('secrets', 'options'),
    queryFn: () => api.listSecrets({ query: { limit: 100 } }),
    staleTime: 60_000,
  })
  const connections = useQuery({
    queryKey: key('connections', 'options'),
    queryFn: () => api.listConnections({ query: { limit: 100 } }),
    staleTime: 60_000,
  })
  const named = (items: readonly { readonly id: string; readonly name: string }[] | undefined) =>
    (items ?? []).map(({ id, name }) => ({ value: id, label: name }))
  const { auth } = http
  const kind = auth?.type ?? 'none'
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="level-fields">
        <ChoiceField path={`${at}.http.method`} options={same(METHODS)} />
        <NumberField path={`${at}.http.timeoutMs`} min={1_000} max={20_000} step={500} />
      </SimpleGrid>
      <TextField path={`${at}.http.url`} required maxLength={2_048} />
      <ChoiceField
        path={`${at}.connectionId`}
        options={named(connections.data?.items)}
        none={t('noConnection')}
      />
      <PairsField path={`${at}.http.headers`} />
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="level-fields">
        <ChoiceField
          path={`${at}.http.bodyFormat`}
          options={[
            { value: 'json', label: 'JSON' },
            { value: 'form', label: t('bodyForm') },
          ]}
        />
        <TextField path={`${at}.http.bodyRoot`} optional maxLength={100} />
      </SimpleGrid>
      <NativeSelect
        label={t('tools_http_auth')}
        disabled={disabled}
        value={kind}
        onChange={({ currentTarget: { value } }) =>
          set(`${at}.http.auth`, value === 'none' ? null : { ...NO_AUTH, ...auth, type: value })
        }
        data={(['none', 'bearer', 'basic', 'api_key'] as const).map((value) => ({
          value,
          label: t(`auth.${value}`),
        }))}
      />
      {kind !== 'none' && (
        <>
          <ChoiceField
            path={`${at}.http.auth.secretId`}
            options={named(secrets.data?.items)}
            none={t('noSecret')}
          />
          {kind === 'api_key' && (
            <SimpleGrid cols={{ base: 1, xs: 2 }} className="level-fields">
              <ChoiceField
                path={`${at}.http.auth.in`}
                none={t('place.unset')}
                options={(['header', 'query'] as const).map((value) => ({
                  value,
                  label: t(`place.${value}`),
                }))}
              />
              <TextField path={`${at}.http.auth.name`} optional maxLength={100} />
            </SimpleGrid>
          )}
          <TextField path={`${at}.http.auth.header`} optional maxLength={100} />
          <NativeSelect
            label={t('secondary')}
            disabled={disabled}
            value={auth?.secondary == null ? 'off' : 'on'}
            onChange={({ currentTarget: { value } }) =>
              set(
                `${at}.http.auth.secondary`,
                value === 'on' ? { in: 'header', name: '', secretId: '' } : null,
              )
            }
            data={[
              { value: 'off', label: t('secondaryOff') },
              { value: 'on', label: t('secondaryOn') },
            ]}
          />
          {auth?.secondary != null && (
            <SimpleGrid cols={{ base: 1, xs: 3 }} className="level-fields">
              <ChoiceField
                path={`${at}.http.auth.secondary.in`}
                options={(['header', 'query'] as const).map((value) => ({
                  value,
                  label: t(`place.${value}`),
                }))}
              />
              <TextField path={`${at}.http.auth.secondary.name`} required maxLength={100} />
              <ChoiceField
                path={`${at}.http.auth.secondary.secretId`}
                options={named(secrets.data?.items)}
                none={t('noSecret')}
              />
            </SimpleGrid>
          )}
        </>
      )}
    </>
  )
}
