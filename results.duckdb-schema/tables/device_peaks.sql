-- One row per GPU model and precision: the vendor's dense peak FLOP/s, without sparsity. `fp32` is without tensor
-- cores, as fp32 training is here; `tf32`, `bf16` and `fp16` use tensor cores and accumulate in fp32. If a data sheet
-- gives a figure only with sparsity, half of it is used. A part of a GPU (MIG) has another name, and no row.
CREATE TABLE device_peaks (
    device_pattern VARCHAR,        -- regular expression that matches the whole device name from CUDA
    precision VARCHAR,             -- fp32, tf32, bf16, fp16
    peak_flops_per_s DOUBLE,       -- dense peak, without sparsity
    source VARCHAR                 -- where the figure comes from
);
INSERT INTO device_peaks
WITH tflops(device_pattern, fp32, tf32, bf16, fp16, source) AS (
    VALUES
    ('NVIDIA GB200', 90, 1250, 2500, 2500, 'https://glennklockwood.com/garden/processors/B200'),
    ('NVIDIA B200', 80, 1100, 2250, 2250, 'https://glennklockwood.com/garden/processors/B200'),
    ('NVIDIA H200', 66.9, 494.7, 989.4, 989.4, 'https://glennklockwood.com/garden/processors/h100'),
    ('NVIDIA H100( SXM5?)?( 80GB)?( HBM3)?', 66.9, 494.7, 989.4, 989.4,
        'https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet'),
    ('NVIDIA H100 PCIe', 51.2, 378, 756.5, 756.5,
        'https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet'),
    ('NVIDIA A100[- ].*GB( PCIe)?', 19.5, 156, 312, 312,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf'),
    ('NVIDIA A10', 31.2, 62.5, 125, 125,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a10/pdf/a10-datasheet.pdf'),
    ('NVIDIA L40S', 91.6, 183, 362, 362, 'https://www.nvidia.com/en-us/data-center/l40s/'),
    ('NVIDIA L4', 30.3, 60, 121, 121, 'https://www.nvidia.com/en-us/data-center/l4/'),
    ('(Tesla|NVIDIA) V100-SXM[23]-.*GB', 15.7, NULL, NULL, 125,
        'https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf'),
    ('(Tesla|NVIDIA) V100-PCIE-.*GB', 14, NULL, NULL, 112,
        'https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf'),
    ('(Tesla|NVIDIA) V100S-PCIE-.*GB', 16.4, NULL, NULL, 130,
        'https://images.nvidia.com/content/technologies/volta/pdf/volta-v100-datasheet-update-us-1165301-r5.pdf'),
    ('(Tesla|NVIDIA) T4', 8.1, NULL, NULL, 65,
        'https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/tesla-t4/t4-tensor-core-datasheet-951643.pdf')
),
each_precision AS (
    UNPIVOT tflops ON fp32, tf32, bf16, fp16 INTO NAME precision VALUE tflops_per_s
)
SELECT device_pattern, precision, round(tflops_per_s * 1e12), source FROM each_precision;
