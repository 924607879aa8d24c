"""A small twin in the form that the probe produces."""

BASE = "http://twin.example:8000"

TWIN = f"""
PREFIX st: <https://w3id.org/supertwin/ns#>
PREFIX qudt: <http://qudt.org/schema/qudt/>
PREFIX unit: <http://qudt.org/vocab/unit/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX t: <{BASE}/twin/n1/>
PREFIX m: <{BASE}/metric/>
INSERT DATA {{
GRAPH <{BASE}/graph/twin/n1> {{
  <{BASE}/twin/n1> a st:ComputeNode ; rdfs:label "n1" ; st:hostname "n1" ;
    st:osName "Debian <b>12</b>" ; st:kernelRelease "6.1.0" ; st:cpuModel "A & B" ;
    st:memorySize 25769803776 ;
    st:exposes m:kernel.percpu.cpu.user , m:kernel.all.load , m:mem.util.free ,
      m:kernel.uname.release , m:proc.psinfo.utime , m:denied.metric , m:broken.metric ;
    st:resolvesAtFetch <{BASE}/indom/3.9> .
  <{BASE}/twin/n1/socket/socket-0> a st:Socket ; rdfs:label "socket 0" ;
    st:osIndex 0 ; st:isPartOf <{BASE}/twin/n1> .
  <{BASE}/twin/n1/core/core-0> a st:Core ; rdfs:label "core 0" ; st:osIndex 0 ;
    st:isPartOf <{BASE}/twin/n1/socket/socket-0> .
  <{BASE}/twin/n1/thread/0> a st:HardwareThread ; rdfs:label "thread 0" ;
    st:osIndex 0 ; st:allowed true ; st:isPartOf <{BASE}/twin/n1/core/core-0> ;
    st:usesCache <{BASE}/twin/n1/cache/l2-0> .
  <{BASE}/twin/n1/thread/1> a st:HardwareThread ; rdfs:label "thread 1" ;
    st:osIndex 1 ; st:allowed true ; st:isPartOf <{BASE}/twin/n1/core/core-0> ;
    st:usesCache <{BASE}/twin/n1/cache/l2-0> .
  <{BASE}/twin/n1/cache/l2-0> a st:Cache ; st:cacheLevel 2 ;
    rdfs:label "<script>alert(1)</script>" ; st:cacheType st:UnifiedCache ;
    st:cacheSize 2097152 ; st:isPartOf <{BASE}/twin/n1/core/core-0> .
  <{BASE}/twin/n1/disk/a~2Fb> a st:Disk ; rdfs:label "a/b" ; st:deviceName "a/b" ;
    rdfs:seeAlso <javascript:alert(1)> , <{BASE}//elsewhere.example/> ;
    st:isPartOf <{BASE}/twin/n1> .
  <{BASE}/twin/n1/instance/60.0/cpu0> a st:MetricInstance ; st:instname "cpu0" ;
    st:inInstanceDomain <{BASE}/indom/60.0> ; st:ofHost <{BASE}/twin/n1> ;
    st:ofComponent <{BASE}/twin/n1/thread/0> .
  <{BASE}/twin/n1/instance/60.0/cpu1> a st:MetricInstance ; st:instname "cpu1" ;
    st:inInstanceDomain <{BASE}/indom/60.0> ; st:ofHost <{BASE}/twin/n1> ;
    st:ofComponent <{BASE}/twin/n1/thread/1> .
  <{BASE}/twin/n1/instance/60.2/1~20minute> a st:MetricInstance ;
    st:instname "1 minute" ; st:inInstanceDomain <{BASE}/indom/60.2> ;
    st:ofHost <{BASE}/twin/n1> ; st:ofComponent <{BASE}/twin/n1> .
}}
GRAPH <{BASE}/graph/twin/n2> {{
  <{BASE}/twin/n2> a st:ComputeNode ; rdfs:label "n2" ; st:hostname "n2" .
}}
GRAPH <{BASE}/graph/observation/1> {{
  <{BASE}/agent/SuperTwin~200.1.0> a <http://www.w3.org/ns/prov#SoftwareAgent> ;
    rdfs:label "SuperTwin 0.1.0" .
}}
GRAPH <{BASE}/graph/metrics> {{
  m:kernel.percpu.cpu.user a st:Metric ; st:samplerName "kernel.percpu.cpu.user" ;
    st:dbName "kernel_percpu_cpu_user" ; st:semantics st:Counter ;
    st:valueType "u64" ; st:pcpUnits "millisec" ; qudt:hasUnit unit:MilliSEC ;
    rdfs:comment "percpu user CPU time" ; st:instanceDomain <{BASE}/indom/60.0> .
  m:kernel.all.load a st:Metric ; st:samplerName "kernel.all.load" ;
    st:dbName "kernel_all_load" ; st:semantics st:Instant ; st:valueType "float" ;
    st:instanceDomain <{BASE}/indom/60.2> .
  m:mem.util.free a st:Metric ; st:samplerName "mem.util.free" ;
    st:dbName "mem_util_free" ; st:semantics st:Instant ; st:pcpUnits "Kbyte" ;
    qudt:hasUnit unit:KibiBYTE .
  m:proc.psinfo.utime a st:Metric ; st:samplerName "proc.psinfo.utime" ;
    st:dbName "proc_psinfo_utime" ; st:semantics st:Counter ;
    st:instanceDomain <{BASE}/indom/3.9> .
  m:denied.metric a st:Metric ; st:samplerName "denied.metric" ;
    st:dbName "denied_metric" ; st:semantics st:Instant .
  m:broken.metric a st:Metric ; st:samplerName "broken.metric" ;
    st:dbName "broken_metric" ; st:semantics st:Instant .
  m:kernel.uname.release a st:Metric ; st:samplerName "kernel.uname.release" ;
    st:dbName "kernel_uname_release" ; st:semantics st:Discrete ;
    st:valueType "string" .
  m:other.metric a st:Metric ; st:samplerName "other.metric" ;
    st:dbName "other_metric" ; st:semantics st:Instant .
  <{BASE}/metric/mem.util.free~~a1b2> a st:Metric ; st:samplerName "mem.util.free" ;
    st:dbName "mem_util_free" ; st:semantics st:Counter .
  <{BASE}/indom/60.0> a st:InstanceDomain ; st:domainId "60.0" .
  <{BASE}/indom/60.2> a st:InstanceDomain ; st:domainId "60.2" .
  <{BASE}/indom/3.9> a st:InstanceDomain ; st:domainId "3.9" .
}}
GRAPH <{BASE}/graph/pmu/spr> {{
  <{BASE}/pmu/spr> a st:PmuModel ; st:pmuName "spr" ; rdfs:label "Sapphire Rapids" .
  <{BASE}/pmu/spr/INST_RETIRED> a st:PmuEvent ; st:ofPmu <{BASE}/pmu/spr> ;
    st:pmuName "INST_RETIRED" ; rdfs:comment "Instructions" .
  <{BASE}/pmu/spr/INST_RETIRED~3AANY> a st:PmuEvent ; st:ofPmu <{BASE}/pmu/spr> ;
    st:umaskOf <{BASE}/pmu/spr/INST_RETIRED> ; st:pmuName "INST_RETIRED:ANY" .
}}
GRAPH <{BASE}/graph/roles> {{
  <{BASE}/role/FLOPs> a st:Role ; st:roleName "FLOPs" ; qudt:hasUnit unit:NUM .
}}
GRAPH <{BASE}/graph/plans/n1> {{
  <{BASE}/twin/n1/plan/monitor.kernel.percpu.cpu.user> a st:SamplingPlan ;
    st:ofHost <{BASE}/twin/n1> ; st:samples m:kernel.percpu.cpu.user ;
    st:period 1.0 ; st:planName "monitor" .
  <{BASE}/twin/n1/plan/monitor.kernel.all.load> a st:SamplingPlan ;
    st:ofHost <{BASE}/twin/n1> ; st:samples m:kernel.all.load ;
    st:period 1.0 ; st:planName "monitor" .
  <{BASE}/twin/n1/plan/monitor.denied.metric> a st:SamplingPlan ;
    st:ofHost <{BASE}/twin/n1> ; st:samples m:denied.metric ; st:period 1.0 ;
    st:planName "monitor" .
  <{BASE}/twin/n1/plan/monitor.broken.metric> a st:SamplingPlan ;
    st:ofHost <{BASE}/twin/n1> ; st:samples m:broken.metric ; st:period 1.0 ;
    st:planName "monitor" .
  <{BASE}/twin/n1/telemetry/kernel.uname.release/~> a st:SWTelemetry ;
    st:ofMetric m:kernel.uname.release ; st:samplerName "kernel.uname.release" ;
    st:dbName "kernel_uname_release" ; st:ofComponent <{BASE}/twin/n1> ;
    st:ofHost <{BASE}/twin/n1> ;
    st:sampledBy <{BASE}/twin/n1/plan/monitor.kernel.all.load> .
  <{BASE}/twin/n1/telemetry/kernel.percpu.cpu.user/cpu0> a st:SWTelemetry ;
    st:ofMetric m:kernel.percpu.cpu.user ; st:samplerName "kernel.percpu.cpu.user" ;
    st:dbName "kernel_percpu_cpu_user" ; st:instname "cpu0" ;
    st:ofComponent <{BASE}/twin/n1/thread/0> ; st:ofHost <{BASE}/twin/n1> ;
    st:sampledBy <{BASE}/twin/n1/plan/monitor.kernel.percpu.cpu.user> .
}}
}}
"""
